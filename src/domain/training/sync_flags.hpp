// The flags of `tessera submit` about code from git. --sync-mode, --sync-source and --sync-image
// are Arena's (docs/research/arena.md §3); the others name what Arena's users set by variables of
// git-sync.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "domain/workload/pod_template.hpp"

namespace tessera::workload {

// As on the command line; empty: not given.
struct SyncFlags {
    std::string mode;      // git
    std::string source;    // the URL of the repository
    std::string image;     // of git-sync
    std::string branch;    // by default that of the repository
    std::string revision;  // a tag or a commit, in place of a branch
    std::string secret;    // the Secret with the credentials
};

inline constexpr std::string_view kGitSyncImage = "registry.k8s.io/git-sync/git-sync:v4.6.0";
// The working folder if --working-dir is missing, as in Arena.
inline constexpr std::string_view kCodeWorkingDir = "/root";

// Sets pod.code, and a working folder if there is none. Moves variables of git-sync, such as
// GIT_SYNC_BRANCH, from the container to git-sync's. Without --sync-mode nothing changes.
// invalid_argument names the flag and the fix.
Result<> add_code(const SyncFlags& flags, PodTemplate& pod);

enum class GitTransport { http, ssh, git };

// What the URL of a git repository says.
struct GitSource {
    std::string name;  // the last part of the path, without ".git"
    GitTransport transport = GitTransport::http;

    friend bool operator==(const GitSource&, const GitSource&) = default;
};

// Accepts https, http, ssh and git, and USER@HOST:PATH for ssh. A URL that has credentials is
// refused, and the error does not repeat it.
Result<GitSource> parse_git_source(std::string_view url);

}  // namespace tessera::workload
