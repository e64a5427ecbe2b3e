#include "gpusim/ctl/cdi.hpp"

#include <fmt/format.h>

#include <vector>

#include "gpusim/ctl/driver_root.hpp"

namespace gpusim {
namespace {

enum class Mode { read_only, read_write };

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
            out += c;
        }
    }
    return out + '"';
}

class Printer {
  public:
    explicit Printer(const std::filesystem::path& root) : root_(root.string()) {}

    // A bind mount of a path under the library directory to the same path in the container.
    std::string mount(const std::string& name, Mode mode) const {
        return fmt::format(
            R"({{"hostPath": {}, "containerPath": {}, "options": [{}, "nosuid", "nodev", "rbind", )"
            R"("rprivate"]}})",
            quoted(fmt::format("{}/{}/{}", root_, kLibraryDir, name)),
            quoted(fmt::format("/{}/{}", kLibraryDir, name)),
            mode == Mode::read_write ? "\"rw\"" : "\"ro\"");
    }

    std::string marker(const Gpu& gpu) const {
        return mount(fmt::format("gpusim/dev/nvidia{}", gpu.minor), Mode::read_only);
    }

    static std::string edits(const std::vector<std::string>& mounts, const char* indent) {
        return fmt::format("\"containerEdits\": {{\"mounts\": [\n{}  {}\n{}]}}", indent,
                           fmt::join(mounts, fmt::format(",\n{}  ", indent)), indent);
    }

    static std::string device(const std::string& name, const std::vector<std::string>& mounts) {
        return fmt::format("    {{\n      \"name\": {},\n      {}\n    }}", quoted(name),
                           edits(mounts, "      "));
    }

  private:
    std::string root_;
};

}  // namespace

std::string cdi_spec(const GpusFile& file, const std::filesystem::path& root) {
    const Printer printer(root);
    std::vector<std::string> common;
    for (const char* library : kLibraries)
        common.push_back(printer.mount(library, Mode::read_only));
    common.push_back(printer.mount("gpusim/gpus", Mode::read_write));
    common.push_back(printer.mount("gpusim/locks", Mode::read_write));
    common.push_back(printer.mount("gpusim/memory", Mode::read_write));

    std::vector<std::string> devices;
    std::vector<std::string> all_markers;
    for (std::uint32_t i = 0; i < file.gpu_count; i++) {
        const std::string marker = printer.marker(file.gpus[i]);
        devices.push_back(Printer::device(file.gpus[i].uuid, {marker}));
        devices.push_back(Printer::device(fmt::format("{}", i), {marker}));
        all_markers.push_back(marker);
    }
    devices.push_back(Printer::device("all", all_markers));
    return fmt::format(
        "{{\n  \"cdiVersion\": \"0.6.0\",\n  \"kind\": \"nvidia.com/gpu\",\n  {},\n"
        "  \"devices\": [\n{}\n  ]\n}}\n",
        Printer::edits(common, "  "), fmt::join(devices, ",\n"));
}

}  // namespace gpusim
