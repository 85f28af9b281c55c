package vol

// Access control lists as the attributes that users see have them: a version of four
// bytes, then entries of eight, a tag, permissions and an id. [Linux]
// include/uapi/linux/posix_acl.h, posix_acl_xattr.h.
const (
	ACLAccessName  = "system.posix_acl_access"
	ACLDefaultName = "system.posix_acl_default"

	ACLVersion   = 2
	ACLHeaderLen = 4
	ACLEntryLen  = 8

	ACLUserObj  = 0x01
	ACLUser     = 0x02 // a user with an id
	ACLGroupObj = 0x04
	ACLGroup    = 0x08 // a group with an id
	ACLMask     = 0x10
	ACLOther    = 0x20
	ACLNoID     = 1<<32 - 1 // the id of entries that have none
)
