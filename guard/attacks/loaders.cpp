// Attacks by other ways to load a program or the driver.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "guard/attacks/attack.hpp"
#include "guard/attacks/elf_image.hpp"

namespace tessera::attacks {
namespace {

constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";

std::string folder_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

// The simulated driver looks for its GPUs beside its own file. If they are not there, it uses
// GPUSIM_DIR.
std::string name_state() {
    const std::string driver = driver_path();
    setenv("GPUSIM_DIR", (folder_of(driver) + "/gpusim").c_str(), 1);
    return driver;
}

void execute_static(const char* way) {
    load();
    const std::string driver = name_state();
    execl(beside("guard_attack_static").c_str(), "guard_attack_static", way, driver.c_str(),
          static_cast<char*>(nullptr));
    give_up("guard_attack_static is not beside this program");
}

void execute_with(const char* variable, const std::string& value, const char* attack) {
    setenv(variable, value.c_str(), 1);
    execute_self(attack, environ);
    give_up("it cannot be executed again");
}

}  // namespace

void static_dlopen() {
    execute_static("dlopen");
}
void static_loader() {
    execute_static("own-loader");
}
void raw_loader() {
    load();
    const std::string driver = name_state();
    const char* error = take_by_own_loader(
        driver.c_str(), [](const char* name) { return dlsym(RTLD_DEFAULT, name); });
    if (error != nullptr) give_up(error);
}

void patched_loader() {
    load();
    const std::string folder = folder_of(driver_path());
    std::ifstream file(kLoader, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string list = "/etc/ld.so.preload";
    const std::size_t at = text.find(list);
    if (at == std::string::npos) give_up("the loader names no list");
    text.replace(at, list.size(), "/etc/ld.so.perload");
    const std::string patched = temporary("patched-loader");
    std::ofstream(patched, std::ios::binary) << text;
    chmod(patched.c_str(), 0755);
    execl(patched.c_str(), patched.c_str(), "--library-path", folder.c_str(),
          beside("guard_attack").c_str(), "dlsym_handle", static_cast<char*>(nullptr));
    give_up("the patched loader does not run");
}
void loader_by_hand() {
    load();
    const std::string folder = folder_of(driver_path());
    execl(kLoader, kLoader, "--inhibit-cache", "--preload", "", "--library-path", folder.c_str(),
          beside("guard_attack").c_str(), "dlsym_handle", static_cast<char*>(nullptr));
    give_up("the loader does not run");
}

void other_library_path() {
    load();
    const std::string driver = name_state();
    const std::string folder = temporary("other-driver");
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file(driver, folder + "/libcuda.so.1",
                               std::filesystem::copy_options::overwrite_existing);
    execute_with("LD_LIBRARY_PATH", folder, "dlsym_handle");
}
void preloaded_dlsym() {
    execute_with("LD_PRELOAD", beside("guard_attack_override.so"), "dlsym_handle");
}
void audit_library() {
    execute_with("LD_AUDIT", beside("guard_attack_audit.so"), "dlsym_handle");
}

void set_user_id() {
    const std::string copy = temporary("set-user-id");
    std::filesystem::copy_file(beside("guard_attack"), copy);
    if (chmod(copy.c_str(), 04755) != 0 || setgid(65532) != 0 || setuid(65532) != 0)
        give_up("the rights of root");
    setenv("LD_PRELOAD", "", 1);
    execl(copy.c_str(), copy.c_str(), "dlsym_handle", static_cast<char*>(nullptr));
    give_up("the copy does not run");
}

}  // namespace tessera::attacks
