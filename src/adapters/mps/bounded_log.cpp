#include "adapters/mps/bounded_log.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <system_error>

#include "adapters/os/text_file.hpp"
#include "base/printable.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A writer that does not append leaves a hole in front of what it writes next, so what the file
// has on the disk counts, not its length.
std::uintmax_t bytes_on_disk(const fs::path& path) {
    constexpr std::uintmax_t kBlock = 512;
    struct stat found{};
    if (::lstat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return 0;
    return static_cast<std::uintmax_t>(found.st_blocks) * kBlock;
}

}  // namespace

void keep_logs_small(const fs::path& folder) {
    for (const fs::path& path : paths_in(folder)) {
        if (path.extension() != ".log" || bytes_on_disk(path) <= kMostLogBytes) continue;
        std::error_code ignored;
        fs::copy_file(path, path.string() + ".1", fs::copy_options::overwrite_existing, ignored);
        fs::resize_file(path, 0, ignored);
    }
}

std::vector<MpsLog> last_lines(const fs::path& folder) {
    constexpr std::uintmax_t kMost = std::uintmax_t{64} << 10;
    std::vector<MpsLog> logs;
    for (const fs::path& path : paths_in(folder)) {
        std::error_code error;
        if (path.extension() != ".log" || !fs::is_regular_file(fs::symlink_status(path, error)))
            continue;
        const std::uintmax_t size = fs::file_size(path, error);
        if (error) continue;
        // One more, to see whether the first line is whole.
        const std::uintmax_t begin = size > kMost ? size - kMost - 1 : 0;
        std::ifstream in(path);
        in.seekg(static_cast<std::streamoff>(begin));
        std::string text(std::min(size, kMost + 1), '\0');
        in.read(text.data(), static_cast<std::streamsize>(text.size()));
        text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
        if (begin > 0) {
            const std::size_t end = text.find('\n');
            text.erase(0, end == std::string::npos ? end : end + 1);
        }
        logs.push_back({path.filename(), printable(std::move(text))});
    }
    std::ranges::sort(logs, {}, &MpsLog::name);
    return logs;
}

std::string appended_lines(const fs::path& log, std::optional<std::uintmax_t>& offset) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(log, error);
    if (error || !offset) {
        if (!offset) offset = error ? 0 : size;
        return {};
    }
    if (size < *offset) offset = 0;  // it was emptied
    std::ifstream in(log);
    in.seekg(static_cast<std::streamoff>(*offset));
    std::string text(std::min<std::uintmax_t>(size - *offset, kMostLogBytes), '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    const std::size_t end = text.rfind('\n');
    text.resize(end == std::string::npos ? 0 : end + 1);
    *offset += text.size();
    return text;
}

std::string written_since(const fs::path& log, std::uintmax_t offset) {
    constexpr std::size_t kMost = 400;
    std::ifstream in(log);
    in.seekg(static_cast<std::streamoff>(offset));
    std::string text;
    for (std::string line; text.size() < kMost && std::getline(in, line);) {
        if (!line.empty()) text += (text.empty() ? "" : " | ") + line;
    }
    if (text.empty()) return "no output";
    return text.substr(0, kMost);
}

}  // namespace tessera
