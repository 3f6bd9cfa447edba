// What the ending of a member's name says about its content.
//
// Pure functions, thread-safe.
#ifndef ROWFS_STORAGE_PACK_EXTENSIONS_H_
#define ROWFS_STORAGE_PACK_EXTENSIONS_H_

#include <string_view>

namespace rowfs {

// "image/jpeg" for "jpg", in any case; empty when it says nothing.
std::string_view MediaTypeOfExtension(std::string_view extension);
// Arrays, texts, tables, pickles: nothing that a media plugin could show.
bool IsValueExtension(std::string_view extension);
// "bin", "dat", none at all: what writers put on anything.
bool IsVagueExtension(std::string_view extension);

// One picture a file: views of it are asked for by name, and none is listed.
bool IsPictureExtension(std::string_view extension);

}  // namespace rowfs
#endif  // ROWFS_STORAGE_PACK_EXTENSIONS_H_
