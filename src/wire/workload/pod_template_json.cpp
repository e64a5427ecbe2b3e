#include "wire/workload/pod_template_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wire/workload/code_sync_json.hpp"
#include "wire/workload/mpi_shell_json.hpp"

namespace tessera::workload {
namespace {

constexpr std::string_view kSharedMemoryVolume = "tessera-shared-memory";
constexpr std::string_view kSharedMemoryPath = "/dev/shm";

void write_texts(JsonWriter& w, std::string_view key, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    w.array(key, [&] {
        for (const std::string& text : texts)
            w.item(text);
    });
}

void write_value(JsonWriter& w, const EnvVar& variable) {
    if (variable.secret.empty() && variable.field_path.empty()) {
        w.member("value", variable.value);
        return;
    }
    w.object("valueFrom", [&] {
        if (!variable.field_path.empty()) {
            w.object("fieldRef", [&] { w.member("fieldPath", variable.field_path); });
            return;
        }
        w.object("secretKeyRef", [&] {
            w.member("name", variable.secret);
            w.member("key", variable.secret_key.empty() ? variable.name : variable.secret_key);
        });
    });
}

void write_resources(JsonWriter& w, const PodTemplate& pod) {
    StringMap limits = pod.limits;
    if (pod.gpus.whole > 0) limits["tessera.dev/gpu"] = std::to_string(pod.gpus.whole);
    if (pod.gpus.is_share()) {
        limits.insert_or_assign("tessera.dev/gpu-share", std::string(1, '1'));
        limits["tessera.dev/gpu-memory"] = to_string(pod.gpus.memory);
    }
    if (pod.gpus.cores.value > 0)
        limits["tessera.dev/gpu-cores"] = std::to_string(pod.gpus.cores.value);
    if (limits.empty()) return;
    w.object("resources", [&] {
        write_map(w, "limits", limits);
        if (!pod.requests.empty()) write_map(w, "requests", pod.requests);
    });
}

// The member with the action of a probe.
void write_action(JsonWriter& w, const Probe& probe) {
    switch (probe.action) {
        case ProbeAction::http:
            w.object("httpGet", [&] {
                w.member("path", probe.path);
                w.member("port", probe.port);
                if (!probe.scheme.empty()) w.member("scheme", probe.scheme);
            });
            return;
        case ProbeAction::tcp:
            w.object("tcpSocket", [&] { w.member("port", probe.port); });
            return;
        case ProbeAction::grpc:
            w.object("grpc", [&] {
                w.member("port", probe.port);
                if (!probe.service.empty()) w.member("service", probe.service);
            });
            return;
        case ProbeAction::exec:
            w.object("exec", [&] { write_texts(w, "command", probe.command); });
            return;
    }
}

void write_probe(JsonWriter& w, std::string_view key, const std::optional<Probe>& probe) {
    if (!probe) return;
    w.object(key, [&] {
        write_action(w, *probe);
        if (probe->delay_s > 0) w.member("initialDelaySeconds", probe->delay_s);
        w.member("periodSeconds", probe->period_s);
        w.member("timeoutSeconds", probe->timeout_s);
        if (probe->successes > 1) w.member("successThreshold", probe->successes);
        w.member("failureThreshold", probe->failures);
    });
}

// A claim may be mounted twice, and then has one volume.
std::string volume_name(const std::vector<Mount>& mounts, const Mount& mount) {
    const auto first = std::ranges::find_if(mounts, [&](const Mount& other) {
        return other.kind == mount.kind && other.source == mount.source;
    });
    return fmt::format("data-{}", first - mounts.begin());
}

bool has_volumes(const PodTemplate& pod) {
    return !pod.mounts.empty() || !pod.files.empty() || !pod.shared_memory.empty() || pod.code ||
           pod.shell;
}

void write_mounts(JsonWriter& w, const PodTemplate& pod) {
    if (!has_volumes(pod)) return;
    w.array("volumeMounts", [&] {
        for (const Mount& mount : pod.mounts) {
            w.object([&] {
                w.member("name", volume_name(pod.mounts, mount));
                w.member("mountPath", mount.path);
                if (!mount.sub_path_expr.empty()) w.member("subPathExpr", mount.sub_path_expr);
                if (mount.read_only) w.member("readOnly", true);
            });
        }
        write_code_mount(w, pod);
        write_shell_mounts(w, pod);
        // A file at a time, so that the rest of its folder stays as in the image.
        for (std::size_t i = 0; i < pod.files.size(); ++i) {
            w.object([&] {
                w.member("name", kFilesVolume);
                w.member("mountPath", pod.files[i].path);
                w.member("subPath", file_key(i));
            });
        }
        if (pod.shared_memory.empty()) return;
        w.object([&] {
            w.member("name", kSharedMemoryVolume);
            w.member("mountPath", kSharedMemoryPath);
        });
    });
}

void write_source(JsonWriter& w, const Mount& mount) {
    switch (mount.kind) {
        case VolumeKind::claim:
            w.object("persistentVolumeClaim", [&] { w.member("claimName", mount.source); });
            return;
        case VolumeKind::host:
            w.object("hostPath", [&] { w.member("path", mount.source); });
            return;
        case VolumeKind::temporary:
            w.object("emptyDir", [] {});
            return;
    }
}

void write_volumes(JsonWriter& w, const PodTemplate& pod, std::string_view files) {
    if (!has_volumes(pod)) return;
    w.array("volumes", [&] {
        for (std::size_t i = 0; i < pod.mounts.size(); ++i) {
            const std::string name = volume_name(pod.mounts, pod.mounts[i]);
            if (name != fmt::format("data-{}", i)) continue;
            w.object([&] {
                w.member("name", name);
                write_source(w, pod.mounts[i]);
            });
        }
        write_code_volumes(w, pod);
        write_shell_volumes(w, pod);
        if (!pod.files.empty()) {
            w.object([&] {
                w.member("name", kFilesVolume);
                w.object("configMap", [&] { w.member("name", files); });
            });
        }
        if (pod.shared_memory.empty()) return;
        w.object([&] {
            w.member("name", kSharedMemoryVolume);
            w.object("emptyDir", [&] {
                w.member("medium", "Memory");
                w.member("sizeLimit", pod.shared_memory);
            });
        });
    });
}

void write_memory_lock(JsonWriter& w) {
    w.object("securityContext",
             [&] { w.object("capabilities", [&] { write_texts(w, "add", {"IPC_LOCK"}); }); });
}

void write_container(JsonWriter& w, const PodTemplate& pod) {
    w.object([&] {
        w.member("name", pod.container);
        w.member("image", pod.image);
        w.member("imagePullPolicy", pod.pull_policy);
        write_texts(w, "command", pod.command);
        if (!pod.working_dir.empty()) w.member("workingDir", pod.working_dir);
        write_env(w, pod.env);
        if (!pod.ports.empty()) {
            w.array("ports", [&] {
                for (const Port& port : pod.ports) {
                    w.object([&] {
                        w.member("name", port.name);
                        w.member("containerPort", port.number);
                    });
                }
            });
        }
        write_resources(w, pod);
        if (pod.rdma) write_memory_lock(w);
        write_mounts(w, pod);
        write_probe(w, "startupProbe", pod.startup);
        write_probe(w, "readinessProbe", pod.readiness);
        write_probe(w, "livenessProbe", pod.liveness);
    });
}

void write_tolerations(JsonWriter& w, const std::vector<Toleration>& tolerations) {
    if (tolerations.empty()) return;
    w.array("tolerations", [&] {
        for (const Toleration& toleration : tolerations) {
            w.object([&] {
                if (!toleration.key.empty()) w.member("key", toleration.key);
                w.member("operator", toleration.op);
                if (!toleration.value.empty()) w.member("value", toleration.value);
                if (!toleration.effect.empty()) w.member("effect", toleration.effect);
            });
        }
    });
}

void write_affinity_term(JsonWriter& w, const StringMap& labels) {
    w.member("topologyKey", "kubernetes.io/hostname");
    w.object("labelSelector", [&] { write_map(w, "matchLabels", labels); });
}

void write_affinity(JsonWriter& w, const std::optional<PodAffinity>& affinity) {
    if (!affinity) return;
    const StringMap& labels = affinity->labels;
    w.object("affinity", [&] {
        w.object(affinity->anti ? "podAntiAffinity" : "podAffinity", [&] {
            if (affinity->required) {
                w.array("requiredDuringSchedulingIgnoredDuringExecution",
                        [&] { w.object([&] { write_affinity_term(w, labels); }); });
                return;
            }
            w.array("preferredDuringSchedulingIgnoredDuringExecution", [&] {
                w.object([&] {
                    w.member("weight", 100);
                    w.object("podAffinityTerm", [&] { write_affinity_term(w, labels); });
                });
            });
        });
    });
}

// Names of Services are found on the node's network only with this policy.
void write_host(JsonWriter& w, const HostParts& host) {
    if (host.network) {
        w.member("hostNetwork", true);
        w.member("dnsPolicy", "ClusterFirstWithHostNet");
    }
    if (host.ipc) w.member("hostIPC", true);
    if (host.pid) w.member("hostPID", true);
}

}  // namespace

std::string file_key(std::size_t position) {
    return fmt::format("file-{}", position);
}

void write_files(JsonWriter& w, const std::vector<File>& files) {
    w.member("immutable", true);
    w.object("data", [&] {
        for (std::size_t i = 0; i < files.size(); ++i)
            w.member(file_key(i), files[i].content);
    });
}

void write_env(JsonWriter& w, const std::vector<EnvVar>& env) {
    if (env.empty()) return;
    w.array("env", [&] {
        for (const EnvVar& variable : env) {
            w.object([&] {
                w.member("name", variable.name);
                write_value(w, variable);
            });
        }
    });
}

void write_map(JsonWriter& w, std::string_view key, const StringMap& map) {
    if (map.empty()) return;
    w.object(key, [&] {
        for (const auto& [name, value] : map)
            w.member(name, value);
    });
}

void write_pod_template(JsonWriter& w, const PodTemplate& pod, const StringMap& labels,
                        std::string_view files) {
    w.object("metadata", [&] {
        StringMap all = pod.labels;
        for (const auto& [name, value] : labels)
            all.insert_or_assign(name, value);
        write_map(w, "labels", all);
        write_map(w, "annotations", pod.annotations);
    });
    w.object("spec", [&] {
        if (pod.code || pod.shell) {
            w.array("initContainers", [&] {
                write_code_container(w, pod);
                write_shell_container(w, pod);
            });
        }
        w.array("containers", [&] { write_container(w, pod); });
        write_volumes(w, pod, files);
        write_map(w, "nodeSelector", pod.node_selector);
        write_affinity(w, pod.affinity);
        write_tolerations(w, pod.tolerations);
        if (!pod.priority_class.empty()) w.member("priorityClassName", pod.priority_class);
        if (!pod.restart_policy.empty()) w.member("restartPolicy", pod.restart_policy);
        if (!pod.subdomain.empty()) w.member("subdomain", pod.subdomain);
        if (!pod.scheduler.empty()) w.member("schedulerName", pod.scheduler);
        write_host(w, pod.host);
        // Variables of Services, such as VLLM_PORT, would configure programs of that name.
        w.member("enableServiceLinks", false);
        if (pod.pull_secrets.empty()) return;
        w.array("imagePullSecrets", [&] {
            for (const std::string& secret : pod.pull_secrets)
                w.object([&] { w.member("name", secret); });
        });
    });
}

}  // namespace tessera::workload
