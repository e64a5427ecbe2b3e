// The pod that a workload runs, in the terms of Kubernetes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_map.hpp"
#include "domain/workload/gpu_flags.hpp"

namespace tessera::workload {

// A variable with a value, with the value of a Secret's key of the same name, or with that of a
// field of the pod.
struct EnvVar {
    std::string name;
    std::string value;            // kubelet expands $(NAME) of variables before it
    std::string secret = {};      // the Secret's name
    std::string field_path = {};  // such as metadata.name
    std::string secret_key = {};  // the Secret's key; empty: the variable's name

    friend bool operator==(const EnvVar&, const EnvVar&) = default;
};

enum class VolumeKind { claim, host, temporary };

struct Mount {
    VolumeKind kind = VolumeKind::claim;
    // The PersistentVolumeClaim, the path on the node, or a name among the temporary folders.
    std::string source;
    std::string path;                // in the container
    std::string sub_path_expr = {};  // as Kubernetes' subPathExpr; empty: all of it
    bool read_only = false;

    friend bool operator==(const Mount&, const Mount&) = default;
};

// A text file that the container gets, by way of a ConfigMap.
struct File {
    std::string path;  // in the container
    std::string content;

    friend bool operator==(const File&, const File&) = default;
};

struct Toleration {
    std::string key;  // empty: every taint
    std::string op;   // Exists or Equal
    std::string value = {};
    std::string effect = {};  // empty: every effect

    friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Port {
    std::string name;  // of the Service's port; unique
    int number = 0;

    friend bool operator==(const Port&, const Port&) = default;
};

enum class ProbeAction { http, tcp, grpc, exec };

struct Probe {
    ProbeAction action = ProbeAction::tcp;
    int port = 0;                           // not of exec
    std::string path = {};                  // of http
    std::string scheme = {};                // of http; empty: HTTP
    std::string service = {};               // of grpc; empty: the server as a whole
    std::vector<std::string> command = {};  // of exec
    int delay_s = 0;                        // until the first one
    int period_s = 5;
    int timeout_s = 3;
    int successes = 1;
    int failures = 3;

    friend bool operator==(const Probe&, const Probe&) = default;
};

// Code that a container of its own, the init container kCodeContainer, copies from git before the
// main container starts. They share a folder. Nothing else is shared, so that credentials stay with
// the first.
struct CodeSync {
    std::string image;        // git-sync
    std::vector<EnvVar> env;  // of git-sync
    std::string secret;       // the Secret whose files git-sync has in kCodeSecretPath; empty: none
    std::string path;         // of the folder in the main container

    friend bool operator==(const CodeSync&, const CodeSync&) = default;
};

inline constexpr std::string_view kCodeContainer = "init-code";         // as in Arena
inline constexpr std::string_view kCodeVolume = "code-sync";            // as in Arena
inline constexpr std::string_view kCodeRoot = "/code";                  // the folder, for git-sync
inline constexpr std::string_view kCodeSecretPath = "/etc/git-secret";  // as git-sync documents

// Whether to run on the node of a pod that has these labels, or on another one.
struct PodAffinity {
    StringMap labels;
    bool anti = false;      // on another node
    bool required = false;  // or else the pod waits; otherwise other nodes are accepted, too

    friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};

// What the pod shares with its node.
struct HostParts {
    bool network = false;
    bool ipc = false;
    bool pid = false;

    friend bool operator==(const HostParts&, const HostParts&) = default;
};

// The program by which the pods of an MPI job run commands in each other
// (domain/training/mpi_paths.hpp): the init container kShellContainer copies it into a folder that
// it shares with the main container.
struct MpiShell {
    std::string image;   // Tessera's
    std::string secret;  // the Secret that both sides of a connection have

    friend bool operator==(const MpiShell&, const MpiShell&) = default;
};

inline constexpr std::string_view kShellContainer = "init-mpi-shell";

struct PodTemplate {
    std::string container;  // the container's name
    std::string image;
    std::string pull_policy;
    std::vector<std::string> pull_secrets;
    std::vector<std::string> command;  // empty: that of the image. Kubelet expands $(NAME) in it
    std::string working_dir;           // empty: that of the image
    Gpus gpus;
    StringMap limits;           // other resources: cpu, memory and what --device names
    StringMap requests;         // those of which less than the limit is requested
    std::string shared_memory;  // size of /dev/shm, a quantity; empty: the runtime's default
    std::vector<EnvVar> env;
    std::vector<Mount> mounts;
    std::vector<File> files;
    std::optional<CodeSync> code;
    std::optional<MpiShell> shell;
    std::vector<Port> ports;
    std::optional<Probe> startup;
    std::optional<Probe> readiness;
    std::optional<Probe> liveness;
    StringMap annotations;
    StringMap labels;
    StringMap node_selector;
    std::optional<PodAffinity> affinity;
    std::vector<Toleration> tolerations;
    std::string priority_class;
    std::string restart_policy;  // empty: Always
    std::string subdomain;       // the headless Service by which other pods find this one
    std::string scheduler;       // empty: the cluster's default
    HostParts host;
    bool rdma = false;  // may lock all its memory, as RDMA needs

    friend bool operator==(const PodTemplate&, const PodTemplate&) = default;
};

// The name of the ConfigMap with the files of `object`, by their content: pods of an earlier
// version of a job keep the files that they started with.
std::string files_name(std::string_view object, const std::vector<File>& files);

}  // namespace tessera::workload
