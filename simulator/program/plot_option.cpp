#include "simulator/program/plot_option.hpp"

#include <fmt/format.h>

#include "adapters/os/text_file.hpp"
#include "simulator/chart/chart_picture.hpp"

namespace tessera {

CLI::Option* add_plot(CLI::App& command, std::string& path, const std::string& what) {
    const auto fault = [](const std::string& text) {
        if (text == "-") return std::string("standard output is used for the results; name a file");
        const auto kind = picture_kind(text);
        return kind ? std::string() : kind.error().text;
    };
    return command
        .add_option(
            "--plot", path,
            fmt::format("also draw {} into this file, as SVG, or as PNG if its name ends in "
                        ".png",
                        what))
        ->check(CLI::Validator(fault, "FILE"));
}

Result<> check_plot(const std::string& path) {
    if (path.empty()) return {};
    TRY(const PictureKind kind, picture_kind(path));
    if (const auto can = check_picture(kind); !can) return fail(can.error().in("--plot"));
    if (const auto can = check_writable(path); !can) return fail(can.error().in("--plot"));
    return {};
}

ReadFile reader_beside(const std::string& path) {
    return [path](const std::string& file) -> Result<std::string> {
        if (!path.empty() && is_same_file(path, file)) {
            return fail(
                Code::invalid_argument,
                fmt::format(
                    "--plot: {} is an input file and would be overwritten; name another file",
                    path));
        }
        return read_text_file(file);
    };
}

Result<> write_plot(const std::string& path, const Chart& chart) {
    if (path.empty()) return {};
    TRY(const PictureKind kind, picture_kind(path));
    const auto written = write_text_file(path, chart_picture(chart, kind));
    if (!written) return fail(written.error().in("--plot"));
    return {};
}

}  // namespace tessera
