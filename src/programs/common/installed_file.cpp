#include "programs/common/installed_file.hpp"

#include <system_error>

namespace fs = std::filesystem;

namespace tessera {

fs::path program_folder() {
    std::error_code error;
    return fs::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<fs::path> release_folders(std::vector<fs::path> first) {
    for (const fs::path& folder :
         {program_folder().parent_path() / "lib/tessera", fs::path("/usr/local/lib/tessera"),
          fs::path("/usr/lib/tessera")})
        first.push_back(folder);
    return first;
}

FoundFile find_file(const std::vector<fs::path>& folders, const std::string& name) {
    FoundFile out;
    for (const fs::path& folder : folders) {
        std::error_code error;
        if (fs::is_regular_file(folder / name, error)) return {folder / name, {}};
        out.searched += (out.searched.empty() ? "" : ", ") + folder.string();
    }
    return out;
}

}  // namespace tessera
