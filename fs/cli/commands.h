// One function a command; each parses, calls one library function, prints.
//
// One thread each.
#ifndef ROWFS_FS_CLI_COMMANDS_H_
#define ROWFS_FS_CLI_COMMANDS_H_

#include "fs/cli/command.h"

namespace rowfs {

int CmdMount(Env& env, const Args& args);
int CmdUmount(Env& env, const Args& args);
int CmdIngest(Env& env, const Args& args);
int CmdAppend(Env& env, const Args& args);
int CmdCommit(Env& env, const Args& args);
int CmdDelete(Env& env, const Args& args);
int CmdCompact(Env& env, const Args& args);
int CmdGc(Env& env, const Args& args);
int CmdVerify(Env& env, const Args& args);
int CmdTag(Env& env, const Args& args);
int CmdExtractFrame(Env& env, const Args& args);
int CmdReadBlob(Env& env, const Args& args);
int CmdScan(Env& env, const Args& args);
int CmdInfo(Env& env, const Args& args);
int CmdLs(Env& env, const Args& args);
int CmdCat(Env& env, const Args& args);
int CmdPreview(Env& env, const Args& args);
int CmdIndex(Env& env, const Args& args);
int CmdPrefetch(Env& env, const Args& args);
int CmdBench(Env& env, const Args& args);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_COMMANDS_H_
