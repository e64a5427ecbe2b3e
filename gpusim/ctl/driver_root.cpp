#include "gpusim/ctl/driver_root.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <system_error>

namespace fs = std::filesystem;

namespace gpusim {
namespace {

// The permissions of /dev/nvidia* on a real node: every container user may open them.
constexpr auto kForEveryone = static_cast<fs::perms>(0666);
constexpr auto kForReaders = static_cast<fs::perms>(0444);
constexpr auto kForEntering = static_cast<fs::perms>(0755);

template <std::size_t Size>
void copy_text(const std::string& text, char (&out)[Size]) {
    std::memcpy(out, text.c_str(), text.size() + 1);
}

std::unique_ptr<GpusFile> make_state(const std::vector<GpuSpec>& specs) {
    auto file = std::make_unique<GpusFile>();
    std::memcpy(file->magic, kMagic, sizeof kMagic);
    file->version = kLayoutVersion;
    file->gpu_count = static_cast<std::uint32_t>(specs.size());
    std::random_device random;
    file->id = std::uint64_t{random()} << 32 | random();
    for (std::size_t i = 0; i < specs.size(); i++) {
        const GpuSpec& spec = specs[i];
        Gpu& gpu = file->gpus[i];
        copy_text(spec.uuid, gpu.uuid);
        copy_text(spec.model, gpu.model);
        gpu.memory_bytes = spec.memory_bytes;
        gpu.reserved_bytes = spec.reserved_bytes;
        gpu.context_overhead_bytes = spec.context_overhead_bytes;
        gpu.graph_overhead_bytes = spec.graph_overhead_bytes;
        gpu.time_slice_ns = spec.time_slice_ns;
        gpu.switch_ns = spec.switch_ns;
        gpu.numa = spec.numa;
        gpu.pcie_switch = spec.pcie_switch;
        gpu.nvlink = spec.nvlink;
        gpu.multiprocessors = spec.multiprocessors;
        gpu.event_clock_fast_ppm = spec.event_clock_fast_ppm;
        gpu.minor = spec.minor;
        gpu.pci_domain = spec.pci_domain;
        gpu.pci_bus = spec.pci_bus;
        gpu.pci_device = spec.pci_device;
        gpu.compute_major = spec.compute_major;
        gpu.compute_minor = spec.compute_minor;
    }
    return file;
}

void write_file(const fs::path& path, const void* data, std::size_t bytes, fs::perms mode) {
    std::ofstream out(path, std::ios::binary);
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    out.close();
    if (!out)
        throw fs::filesystem_error("write", path, std::error_code(EIO, std::system_category()));
    fs::permissions(path, mode);
}

void copy_programs(const fs::path& libraries, const fs::path& root) {
    const bool beside = fs::exists(libraries / kPrograms[0]);
    const fs::path from = beside ? libraries : libraries / "../bin";
    const fs::path programs = root / kProgramDir;
    fs::create_directory(programs);
    fs::permissions(programs, kForEntering);
    for (const char* program : kPrograms) {
        fs::copy_file(from / program, programs / program);
        fs::permissions(programs / program, kForEntering);
    }
}

void fill(const fs::path& root, const RootPlan& plan) {
    const fs::path libraries = root / kLibraryDir;
    const fs::path state = libraries / "gpusim";
    fs::create_directories(state / "dev");
    // mkdtemp and a strict umask would keep other users out.
    for (fs::path directory = state / "dev"; directory != root;
         directory = directory.parent_path()) {
        fs::permissions(directory, kForEntering);
    }
    fs::permissions(root, kForEntering);
    for (const char* library : kLibraries) {
        fs::copy_file(plan.libraries / library, libraries / library);
        fs::permissions(libraries / library, kForEntering);
        fs::create_symlink(library, libraries / fs::path(library).stem());
    }
    copy_programs(plan.libraries, root);
    const auto file = make_state(plan.gpus);
    // The rest is zero, and mostly stays zero: it must not take space on the disk.
    write_file(state / "gpus", file.get(), offsetof(GpusFile, slots), kForEveryone);
    fs::resize_file(state / "gpus", sizeof *file);
    write_file(state / "locks", "", 0, kForEveryone);
    write_file(state / "memory", "", 0, kForEveryone);
    for (const GpuSpec& gpu : plan.gpus) {
        write_file(state / "dev" / fmt::format("nvidia{}", gpu.minor), "", 0, kForReaders);
    }
}

}  // namespace

tl::expected<void, std::string> create_root(const RootPlan& plan) {
    std::string temporary;
    try {
        const fs::path root = fs::absolute(plan.root).lexically_normal();
        if (fs::exists(root) && !fs::is_empty(root)) {
            return tl::unexpected(fmt::format("{} exists already; remove it first", root.string()));
        }
        fs::create_directories(root.parent_path());
        temporary = root.string() + ".tmp-XXXXXX";
        if (mkdtemp(temporary.data()) == nullptr) {
            return tl::unexpected(fmt::format("mkdtemp {}: {}", temporary, std::strerror(errno)));
        }
        fill(temporary, plan);
        fs::rename(temporary, root);
        return {};
    } catch (const fs::filesystem_error& error) {
        std::error_code ignored;
        if (!temporary.empty()) fs::remove_all(temporary, ignored);
        return tl::unexpected(std::string(error.what()));
    }
}

tl::expected<State, std::string> open_root(const fs::path& root, Access access) {
    const std::string directory = (root / kLibraryDir / "gpusim").string();
    State state;
    switch (open_state(state, directory.c_str(), access)) {
        case OpenResult::ok:
            return state;
        case OpenResult::absent:
            return tl::unexpected(fmt::format("{}: no simulated driver here", directory));
        case OpenResult::not_permitted:
            return tl::unexpected(fmt::format("{}: not permitted", directory));
        case OpenResult::foreign:
            return tl::unexpected(fmt::format("{}: made by another version", directory));
    }
    return tl::unexpected(std::string("unreachable"));
}

}  // namespace gpusim
