// Files of a release that programs look for when they run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

// The folder of the program that runs.
std::filesystem::path program_folder();
// `first`, then lib/tessera beside the program's folder, and where a release is installed.
std::vector<std::filesystem::path> release_folders(std::vector<std::filesystem::path> first);

struct FoundFile {
    std::filesystem::path path;  // empty: it is in none of the folders
    std::string searched;        // the folders, with commas
};

// The first regular file of this name.
FoundFile find_file(const std::vector<std::filesystem::path>& folders, const std::string& name);

}  // namespace tessera
