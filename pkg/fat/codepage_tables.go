package fat

// The upper halves of the code pages that golang.org/x/text lacks, a line for 16
// bytes from 0x80 on; U+FFFD is what stands for nothing. [MICSFT] has them: the
// mapping files CP737.TXT, CP775.TXT, CP857.TXT, CP861.TXT, CP864.TXT and
// CP869.TXT in VENDORS/MICSFT/PC of the Unicode Consortium's mappings.
const (
	// Greek.
	page737 = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠ" +
		"ΡΣΤΥΦΧΨΩαβγδεζηθ" +
		"ικλμνξοπρσςτυφχψ" +
		"░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
		"└┴┬├─┼╞╟╚╔╩╦╠═╬╧" +
		"╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀" +
		"ωάέήϊίόύϋώΆΈΉΊΌΎ" +
		"Ώ±≥≤ΪΫ÷≈°∙·√ⁿ²■\u00a0"

	// Baltic.
	page775 = "ĆüéāäģåćłēŖŗīŹÄÅ" +
		"ÉæÆōöĢ¢ŚśÖÜø£Ø×¤" +
		"ĀĪóŻżź”¦©®¬½¼Ł«»" +
		"░▒▓│┤ĄČĘĖ╣║╗╝ĮŠ┐" +
		"└┴┬├─┼ŲŪ╚╔╩╦╠═╬Ž" +
		"ąčęėįšųūž┘┌█▄▌▐▀" +
		"ÓßŌŃõÕµńĶķĻļņĒŅ’" +
		"\u00ad±“¾¶§÷„°∙·¹³²■\u00a0"

	// Turkish.
	page857 = "ÇüéâäàåçêëèïîıÄÅ" +
		"ÉæÆôöòûùİÖÜø£ØŞş" +
		"áíóúñÑĞğ¿®¬½¼¡«»" +
		"░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐" +
		"└┴┬├─┼ãÃ╚╔╩╦╠═╬¤" +
		"ºªÊËÈ\ufffdÍÎÏ┘┌█▄¦Ì▀" +
		"ÓßÔÒõÕµ\ufffd×ÚÛÙìÿ¯´" +
		"\u00ad±\ufffd¾¶§÷¸°¨·¹³²■\u00a0"

	// Icelandic.
	page861 = "ÇüéâäàåçêëèÐðÞÄÅ" +
		"ÉæÆôöþûÝýÖÜø£Ø₧ƒ" +
		"áíóúÁÍÓÚ¿⌐¬½¼¡«»" +
		"░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
		"└┴┬├─┼╞╟╚╔╩╦╠═╬╧" +
		"╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀" +
		"αßΓπΣσµτΦΘΩδ∞φε∩" +
		"≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0"

	// Arabic.
	page864 = "°·∙√▒─│┼┤┬├┴┐┌└┘" +
		"β∞φ±½¼≈«»\ufef7\ufef8\ufffd\ufffd\ufefb\ufefc\ufffd" +
		"\u00a0\u00ad\ufe82£¤\ufe84\ufffd\ufffd\ufe8e\ufe8f\ufe95\ufe99\u060c\ufe9d\ufea1\ufea5" +
		"\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669\ufed1\u061b\ufeb1\ufeb5\ufeb9\u061f" +
		"¢\ufe80\ufe81\ufe83\ufe85\ufeca\ufe8b\ufe8d\ufe91\ufe93\ufe97\ufe9b\ufe9f\ufea3\ufea7\ufea9" +
		"\ufeab\ufead\ufeaf\ufeb3\ufeb7\ufebb\ufebf\ufec1\ufec5\ufecb\ufecf¦¬÷×\ufec9" +
		"\u0640\ufed3\ufed7\ufedb\ufedf\ufee3\ufee7\ufeeb\ufeed\ufeef\ufef3\ufebd\ufecc\ufece\ufecd\ufee1" +
		"\ufe7d\u0651\ufee5\ufee9\ufeec\ufef0\ufef2\ufed0\ufed5\ufef5\ufef6\ufedd\ufed9\ufef1■\ufffd"

	// Greek, IBM.
	page869 = "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdΆ\ufffd·¬¦‘’Έ―Ή" +
		"ΊΪΌ\ufffd\ufffdΎΫ©Ώ²³ά£έήί" +
		"ϊΐόύΑΒΓΔΕΖΗ½ΘΙ«»" +
		"░▒▓│┤ΚΛΜΝ╣║╗╝ΞΟ┐" +
		"└┴┬├─┼ΠΡ╚╔╩╦╠═╬Σ" +
		"ΤΥΦΧΨΩαβγ┘┌█▄δε▀" +
		"ζηθικλμνξοπρσςτ΄" +
		"\u00ad±υφχ§ψ΅°¨ωϋΰώ■\u00a0"
)
