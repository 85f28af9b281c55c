package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/fatkit/fatkit/pkg/vol"
)

// app is one run of the program: what it talks to, and how it was told to talk.
type app struct {
	drivers []*vol.Driver
	in      io.Reader
	stdout  io.Writer
	out     *bufio.Writer // the one thing asked for, to stdout
	errw    io.Writer     // everything else
	getenv  func(string) string
	now     func() time.Time
	// terminal tells whether a reader or writer is one.
	terminal func(any) bool
	colours  bool // standard output may be coloured

	command string // the subcommand, for the label of an undo log
	json    bool
	quiet   bool
	verbose bool
	code    int // exit code so far: bits are only added

	partName string // --partition-label
	maxSize  int64  // --max-size, in bytes; 0: not given
	bounded  bool   // the command has --max-size
	columns  int    // width of standard output; 0 where it is no terminal
	board    *meter // where several works run at once: shows all of them
}

// newApp is an app on the outside world.
func newApp(drivers []*vol.Driver, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{
		drivers: drivers,
		in:      stdin, stdout: stdout, out: bufio.NewWriter(stdout), errw: stderr,
		getenv: os.Getenv, now: time.Now, terminal: isTerminal,
		colours: isTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
		columns: columnsOf(stdout),
	}
}

// isTerminal reports whether v is a file that is a terminal.
func isTerminal(v any) bool {
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// run carries out a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.out.Reset(&output{ctx: ctx, w: a.stdout})
	if len(args) > 0 {
		if t := toolNamed(args[0]); t != nil {
			return a.runTool(ctx, t, args)
		}
	}
	a.json = wantsJSON(args)
	c := a.cli()
	if err := c.RunContext(ctx, arrange(args, c.Flags, c.Commands)); err != nil {
		a.fail(imageOf(err), err)
	}
	a.flush(ctx, "fatkit")
	return a.code
}

// wantsJSON looks for --json where the command line is not parsed yet, because
// errors of the command line are printed in JSON, too.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	for i, arg := range args {
		switch arg {
		case "--json", "-json", "--report=json", "--json=true":
			return true
		case "--report":
			if i+1 < len(args) && args[i+1] == "json" {
				return true
			}
		}
	}
	return false
}

// cli describes the command line to the cli package.
func (a *app) cli() *cli.App {
	commands := append(a.commands(), a.docsCommand())
	for _, c := range commands {
		c.Flags = append(c.Flags, a.commonFlags(c.Name == "cat")...)
		c.OnUsageError = a.badUsage
		c.CustomHelpTemplate = cli.CommandHelpTemplate + helpExamples(c.Name)
		c.HideHelpCommand = true // else an image called "help" could not be named
		c.Action = a.action(c.Name, c.Action)
	}
	return &cli.App{
		Name:  "fatkit",
		Usage: "format, fill, check, repair, preallocate in and zero " + typeList(a.drivers) + " volumes",
		UsageText: "fatkit COMMAND [options] IMAGE...\n\n" +
			"IMAGE is an image file or a block device: card.img, its partition card.img:2,\n" +
			"or the volume at an offset card.img@@1M. Nothing needs root, a mount or a loop device.",
		Description: "Exit codes are the bits of fsck(8): 0 clean or done, 1 errors corrected, " +
			"4 errors left or request not possible, 8 could not be carried out, 16 usage error, 32 cancelled.",
		Commands:        append(commands, a.helpCommand()),
		Flags:           append(a.commonFlags(false), toggle("print the version", "version"), cli.HelpFlag),
		HideVersion:     true, // its -v would take ours
		Writer:          a.out,
		ErrWriter:       a.errw,
		Reader:          a.in,
		Action:          a.root,
		OnUsageError:    a.badUsage,
		CommandNotFound: func(_ *cli.Context, name string) { a.unknown(name) },
		ExitErrHandler:  func(*cli.Context, error) {}, // the default calls os.Exit
	}
}

// commands are the subcommands, in the order in which a new user needs them.
func (a *app) commands() []*cli.Command {
	return []*cli.Command{
		a.formatCommand(), a.checkCommand(), a.preallocCommand(), a.zeroCommand(),
		a.mountScanCommand(), a.lsCommand(), a.catCommand(), a.copyCommand(), a.rmCommand(), a.mkdirCommand(), a.mapCommand(), a.infoCommand(), a.undoCommand(), a.explainCommand(), a.versionCommand(),
	}
}

// commonFlags are those of every command. With bytes the command prints bytes of
// files, and is asked for JSON by mistake alone: --json is told apart from flags that
// nobody knows, and not offered.
func (a *app) commonFlags(bytes bool) []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "json", Usage: "print one JSON document on standard output, also for errors", DisableDefaultText: true, Hidden: bytes},
		toggle("print errors and findings only: no notes, no summary, no progress", "quiet", "q"),
		toggle("print more", "verbose", "v"),
	}
}

// toggle is a flag that takes no value.
func toggle(usage, name string, aliases ...string) cli.Flag {
	return &cli.BoolFlag{Name: name, Aliases: aliases, Usage: usage, DisableDefaultText: true}
}

// action is fn with the common flags seen to.
func (a *app) action(name string, fn cli.ActionFunc) cli.ActionFunc {
	return func(c *cli.Context) error {
		a.command = name
		a.json, a.quiet, a.verbose = c.Bool("json"), c.Bool("quiet"), c.Bool("verbose")
		if err := filesNamed(c); err != nil {
			return err
		}
		if err := a.readImageFlags(c); err != nil {
			return err
		}
		return fn(c)
	}
}

// filesNamed refuses empty names of files, as a variable leaves that was not set: they
// must not be taken for a flag that is not given.
func filesNamed(c *cli.Context) error {
	for _, f := range c.Command.Flags {
		if s, ok := f.(*cli.StringFlag); ok && s.TakesFile && c.IsSet(s.Name) && c.String(s.Name) == "" {
			return usagef("--%s wants a file name", s.Name)
		}
	}
	return nil
}

// root is run where there is no subcommand that we know.
func (a *app) root(c *cli.Context) error {
	switch {
	case c.Args().Present():
		a.unknown(c.Args().First())
		return nil
	case c.Bool("version"):
		a.quiet, a.verbose = c.Bool("quiet"), c.Bool("verbose")
		return a.version(c)
	}
	if !a.json {
		a.usage(c)
	}
	return usagef("which command?")
}

// unknown complains about a subcommand.
func (a *app) unknown(name string) {
	if !a.json {
		a.tell("Commands: %s\n", strings.Join(commandNames(a.commands()), ", "))
	}
	a.fail("", usagef("there is no command %q%s; see fatkit --help", name, didYouMean(name, commandNames(a.commands()))))
}

// usage prints the help of the program to standard error.
func (a *app) usage(c *cli.Context) {
	out := c.App.Writer
	c.App.Writer = a.errw
	_ = cli.ShowAppHelp(c)
	c.App.Writer = out
}

// badUsage is called with what the cli package has against the flags.
func (a *app) badUsage(c *cli.Context, err error, sub bool) error {
	if sub {
		return usagef("%s: %v%s; see fatkit %s --help", c.Command.Name, err, nearFlag(err, c.Command.Flags), c.Command.Name)
	}
	return usagef("%v%s; see fatkit --help", err, nearFlag(err, c.App.Flags))
}

// fail prints an error and adds its exit code. image may be "".
func (a *app) fail(image string, err error) {
	kind, code := classify(err)
	a.code |= code
	text := explainError(err) + a.nearFile(image, err)
	if a.json {
		a.printJSON(newErrorDoc(kind, text, image))
		return
	}
	if image != "" && !strings.Contains(text, image) {
		text = printable(image) + ": " + text
	}
	a.tell("fatkit: %s\n", printable(text))
}

// printf prints to standard output. What goes wrong shows when it is flushed.
func (a *app) printf(format string, args ...any) { _, _ = fmt.Fprintf(a.out, format, args...) }

// println prints a line, for lists that may be long.
func (a *app) println(line string) {
	_, _ = a.out.WriteString(line)
	_ = a.out.WriteByte('\n')
}

// tell prints to standard error. If that does not work there is nobody left to
// be told.
func (a *app) tell(format string, args ...any) {
	_ = a.out.Flush() // so that the two are seen in order; bufio keeps the error for the last Flush
	_, _ = fmt.Fprintf(a.errw, format, args...)
}

// note tells the user something on standard error, unless quiet.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.tell("fatkit: "+format+"\n", printables(args)...)
	}
}

// printables is args with the texts and errors among them printable: a name in them may
// hold anything.
func printables(args []any) []any {
	out := slices.Clone(args)
	for i, arg := range out {
		switch v := arg.(type) {
		case string:
			out[i] = printable(v)
		case error:
			out[i] = printable(v.Error())
		}
	}
	return out
}

// detail is a note for -v.
func (a *app) detail(format string, args ...any) {
	if a.verbose {
		a.note(format, args...)
	}
}

// one is the single image that a command wants.
func one(c *cli.Context) (string, error) {
	if c.NArg() != 1 {
		return "", usagef("%s wants one image, not %d; see fatkit %s --help", c.Command.Name, c.NArg(), c.Command.Name)
	}
	return c.Args().First(), nil
}

// several are the images of a command that takes any number.
func several(c *cli.Context) ([]string, error) {
	if !c.Args().Present() {
		return nil, usagef("%s wants an image; see fatkit %s --help", c.Command.Name, c.Command.Name)
	}
	return c.Args().Slice(), nil
}

// size reads the flag name as a size; 0 where it is not given.
func size(c *cli.Context, name string) (int64, error) {
	if !c.IsSet(name) {
		return 0, nil
	}
	n, err := parseSize(c.String(name))
	if err != nil {
		return 0, usagef("--%s %v", name, err)
	}
	return n, nil
}

// oneOf reads the flag name, which must have one of these values.
func oneOf(c *cli.Context, name string, values ...string) (string, error) {
	v := c.String(name)
	if !slices.Contains(values, v) {
		return "", usagef("--%s %q: it can be %s", name, v, strings.Join(values, ", "))
	}
	return v, nil
}

// cancelled reports whether the run is to stop.
func cancelled(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

func commandNames(cs []*cli.Command) []string {
	names := make([]string, 0, len(cs))
	for _, c := range cs {
		names = append(names, c.Name)
	}
	return names
}

// typeList names what the drivers can do, for help.
func typeList(drivers []*vol.Driver) string {
	names := make([]string, 0, len(drivers))
	for _, d := range drivers {
		names = append(names, d.Name)
	}
	return strings.Join(names, ", ")
}
