#include "app/workload/data_text.hpp"

#include <fmt/format.h>

#include "app/cli/tab_writer.hpp"
#include "app/workload/view_text.hpp"

namespace tessera {

using workload::DataVolume;

namespace {

// Annotations may have any text; a line break would end the row, and others control the terminal.
std::string without_controls(std::string text) {
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    return text;
}

}  // namespace

std::string data_table(std::span<const DataVolume> volumes, std::int64_t now_s, bool namespaces) {
    std::string out = "NAME\t";
    out += namespaces ? "NAMESPACE\t" : "";
    out += "ACCESSMODE\tDESCRIPTION\tOWNER\tAGE\t\n";
    for (const DataVolume& volume : volumes) {
        out += volume.name + "\t";
        if (namespaces) out += volume.ns + "\t";
        out += fmt::format("{}\t{}\t{}\t{}\t\n", volume.access_modes,
                           without_controls(volume.description), without_controls(volume.owner),
                           age_text(now_s - volume.created_s));
    }
    return align_tabs_and_trim(out);
}

std::string data_json(std::span<const DataVolume> volumes) {
    JsonWriter w;
    w.array([&] {
        for (const DataVolume& volume : volumes) {
            w.object([&] {
                w.member("name", volume.name);
                w.member("namespace", volume.ns);
                w.member("accessMode", volume.access_modes);
                w.member("description", volume.description);
                w.member("owner", volume.owner);
                w.member("creationTimestamp", volume.created_s);
            });
        }
    });
    return w.take();
}

}  // namespace tessera
