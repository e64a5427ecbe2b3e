#include <fmt/format.h>

#include <algorithm>

#include "domain/dialect/dialect.hpp"
#include "domain/dialect/gpu_manager.hpp"
#include "domain/dialect/gpushare.hpp"
#include "domain/dialect/native.hpp"

namespace tessera {
namespace {

bool has(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

std::string names_of(std::span<const Dialect* const> dialects) {
    std::string names;
    for (const Dialect* dialect : dialects)
        names += fmt::format("{}{}", names.empty() ? "" : ", ", dialect->name);
    return names;
}

tl::unexpected<Error> refuse_annotation(std::string_view name, std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("annotation {}: {}", name, why));
}

Result<> set_cores_limit(const std::string& text, ContainerRequests& request) {
    const auto percent = parse_whole_quantity(text);
    if (!percent || *percent < 1 || *percent > 100) {
        return refuse_annotation(
            kCoresLimit, fmt::format("\"{}\" is not a percentage of one GPU; write 1 to 100",
                                     text.substr(0, 32)));
    }
    const Percent cores_limit{static_cast<int>(*percent)};
    bool has_share = request.empty();  // nothing to check if the pod requests no GPU
    for (ContainerRequest& container : request) {
        if (container.gpu.memory.kind == MemoryRequest::Kind::whole_gpu) continue;
        has_share = true;
        if (container.gpu.cores > cores_limit) {
            return refuse_annotation(
                kCoresLimit,
                fmt::format(
                    "{} is below the {} percent that container {} asks for; write {} or more",
                    cores_limit.value, container.gpu.cores.value, container.container,
                    container.gpu.cores.value));
        }
        container.gpu.cores_limit = cores_limit;
    }
    if (has_share) return {};
    return refuse_annotation(kCoresLimit,
                             "the pod has only whole GPUs, which have no compute limit; remove it");
}

Result<> check_memory_limit(const std::string& text, const ContainerRequests& request) {
    const auto limit = parse_whole_quantity(text);
    if (!limit) return refuse_annotation(kGpuMemoryLimit, limit.error().text);
    bool has_share = request.empty();  // nothing to check if the pod requests no GPU
    for (const ContainerRequest& container : request) {
        const MemoryRequest& memory = container.gpu.memory;
        if (memory.kind == MemoryRequest::Kind::whole_gpu) continue;
        has_share = true;
        if (memory.kind != MemoryRequest::Kind::bytes) {
            return refuse_annotation(
                kGpuMemoryLimit,
                fmt::format("works only with tessera.dev/gpu-memory, and container {} "
                            "asks in another way; remove it",
                            container.container));
        }
        if (*limit == memory.amount) continue;
        const bool is_above = *limit > memory.amount;
        return refuse_annotation(
            kGpuMemoryLimit,
            fmt::format("{} is {} the {} that container {} asks for; {}", to_string(Bytes{*limit}),
                        is_above ? "above" : "below", to_string(Bytes{memory.amount}),
                        container.container,
                        is_above ? "a limit above the request is not supported yet, so remove it"
                                 : "write that amount, or remove it"));
    }
    if (has_share) return {};
    return refuse_annotation(kGpuMemoryLimit,
                             "the pod has only whole GPUs, which have no memory limit; remove it");
}

// The dialect of a pod. An error if the pod has requests of two dialects, or of one that is
// switched off; it names them.
class DialectOfPod {
  public:
    explicit DialectOfPod(const Dialects& dialects) : dialects_(dialects) {}

    // `where` is the container or the annotation, for errors.
    Result<> note(const Dialect* row, std::string_view where, std::string_view name) {
        if (row == nullptr || row == found_) return {};
        if (found_ != nullptr) {
            return fail(Code::invalid_argument,
                        fmt::format("{}: {}: stands beside {}; write the pod in one dialect, "
                                    "either {} or {}",
                                    where, name, first_, found_->name, row->name));
        }
        if (!dialects_.is_on(*row)) {
            return fail(Code::invalid_argument,
                        fmt::format("{}: {}: the dialect {} is switched off in this cluster; write "
                                    "the pod in another one ({}), or ask an administrator to add "
                                    "it to `dialects` of the controller and the agents",
                                    where, name, row->name, names_of(dialects_.on())));
        }
        found_ = row;
        first_ = name;
        return {};
    }
    [[nodiscard]] const Dialect* found() const { return found_; }

  private:
    const Dialects& dialects_;
    const Dialect* found_ = nullptr;
    std::string_view first_;
};

Result<const Dialect*> dialect_of_pod(const GpuTexts& texts, const Dialects& dialects) {
    DialectOfPod dialect(dialects);
    for (const ContainerSpec& container : texts.containers) {
        const std::string where = "container " + container.name;
        for (const auto& [name, text] : container.limits)
            TRY_VOID(dialect.note(dialects.of_resource(name), where, name));
    }
    for (const auto& [name, text] : texts.annotations)
        TRY_VOID(dialect.note(dialects.of_annotation(name), "annotation", name));
    return dialect.found();
}

}  // namespace

Dialects::Dialects(std::vector<const Dialect*> rows) : all_(std::move(rows)), on_(all_) {}

Result<Dialects> Dialects::only(std::span<const std::string> names) const {
    const auto bad = [&](std::string_view what) {
        return fail(Code::invalid_argument,
                    fmt::format("dialects: {}; write one or more of: {}", what, names_of(all_)));
    };
    if (names.empty()) return bad("none is given");
    for (const std::string& name : names) {
        if (find(name) == nullptr) return bad(fmt::format("\"{}\" is unknown", name));
    }
    Dialects out = *this;
    std::erase_if(out.on_, [&](const Dialect* dialect) {
        return std::ranges::find(names, dialect->name) == names.end();
    });
    return out;
}

bool Dialects::is_on(const Dialect& dialect) const {
    return std::ranges::find(on_, &dialect) != on_.end();
}

const Dialect* Dialects::find(std::string_view name) const {
    const auto at = std::ranges::find(all_, name, &Dialect::name);
    return at == all_.end() ? nullptr : *at;
}

const Dialect* Dialects::of_resource(std::string_view resource) const {
    const auto at = std::ranges::find_if(
        all_, [&](const Dialect* dialect) { return has(dialect->resources, resource); });
    return at == all_.end() ? nullptr : *at;
}

const Dialect* Dialects::of_annotation(std::string_view annotation) const {
    const auto at = std::ranges::find_if(
        all_, [&](const Dialect* dialect) { return has(dialect->annotations, annotation); });
    return at == all_.end() ? nullptr : *at;
}

bool Dialects::is_former_variable(std::string_view variable) const {
    return std::ranges::any_of(all_, [&](const Dialect* dialect) {
        return !dialect->former_variable.empty() && dialect->former_variable == variable;
    });
}

const Dialects& all_dialects() {
    static const Dialects all({&kNativeDialect, &kGpushareDialect, &kGpuManagerDialect});
    return all;
}

Result<ContainerRequests> parse_container_requests(const GpuTexts& texts,
                                                   const Dialects& dialects) {
    TRY(const Dialect* dialect, dialect_of_pod(texts, dialects));
    if (dialect == nullptr) return ContainerRequests{};
    TRY(ContainerRequests request, dialect->read(texts));
    if (texts.memory_limit) TRY_VOID(check_memory_limit(*texts.memory_limit, request));
    if (texts.cores_limit) TRY_VOID(set_cores_limit(*texts.cores_limit, request));
    return request;
}

}  // namespace tessera
