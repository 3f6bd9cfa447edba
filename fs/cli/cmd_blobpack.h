// `rowfs blobpack VERB ...`, and the program called by the name blobpack: the
// verbs, options, outputs and exit codes of the tool of that name, 0.2.0.
//
// One thread.
#ifndef ROWFS_FS_CLI_CMD_BLOBPACK_H_
#define ROWFS_FS_CLI_CMD_BLOBPACK_H_

#include <span>
#include <string>

#include "fs/cli/blobpack_args.h"
#include "fs/cli/command.h"

namespace rowfs {

// `words`: what stands behind the name.
int RunBlobpack(Env& env, std::span<const std::string> words);

// The verbs, each in the file of its name. They print what the tool prints and
// return its exit code.
int BlobpackPack(Env& env, const BlobpackArgs& args);
int BlobpackUnpack(Env& env, const BlobpackArgs& args);
int BlobpackLs(Env& env, const BlobpackArgs& args);
int BlobpackVerify(Env& env, const BlobpackArgs& args);
int BlobpackManifest(Env& env, const BlobpackArgs& args);
int BlobpackConvertWds(Env& env, const BlobpackArgs& args);
int BlobpackConvertLance(Env& env, const BlobpackArgs& args);
int BlobpackConvertParquet(Env& env, const BlobpackArgs& args);

// "error: message" on stderr; returns `code`.
int BlobpackFail(Env& env, std::string_view message, int code = kExitFailure);
int BlobpackFail(Env& env, const Status& status);

// "1,234,567".
std::string WithCommas(uint64_t number);

}  // namespace rowfs
#endif  // ROWFS_FS_CLI_CMD_BLOBPACK_H_
