//! Commands that a person should see before they run, if no rule speaks of them.

use super::command::Part;

/// Directories in which no program of a model has to write.
const OF_THE_SYSTEM: [&str; 9] =
    ["/etc/", "/boot/", "/usr/", "/bin/", "/sbin/", "/lib/", "/dev/sd", "/dev/nvme", "/sys/"];

/// Files that other programs run or trust.
const TRUSTED_FILES: [&str; 8] =
    [".bashrc", ".bash_profile", ".profile", ".zshrc", ".ssh/authorized_keys", ".ssh/config", ".gitconfig", "/sudoers"];

/// Returns why a part of a command is dangerous, if it is.
pub(super) fn danger(part: &Part) -> Option<&'static str> {
    let arguments: Vec<&str> = part.arguments.iter().map(|argument| &*argument.text).collect();
    let has = |wanted: &[&str]| arguments.iter().any(|argument| wanted.contains(argument));
    let has_letter = |letter: char| {
        arguments
            .iter()
            .any(|argument| argument.starts_with('-') && !argument.starts_with("--") && argument.contains(letter))
    };
    let is_root = |path: &str| {
        let path = path.trim_end_matches('*').trim_end_matches('/');
        matches!(path, "" | "~" | "$HOME" | "/home" | "/etc" | "/usr" | "/var" | "/root" | "." | "..")
    };
    let of_paths = || arguments.iter().filter(|argument| !argument.starts_with('-'));
    let is_forced =
        |argument: &&str| argument.starts_with("--force") || argument.starts_with('+') || *argument == "--mirror";
    let forces = || arguments.iter().any(is_forced);
    let writes = part.writes.iter().any(|path| is_of_the_system(path));
    Some(match part.name() {
        _ if writes => "it writes to a file that the system or a shell trusts",
        "rm" if (has_letter('r') || has_letter('R') || has(&["--recursive"]))
            && of_paths().any(|path| is_root(path)) =>
        {
            "it deletes a whole directory tree"
        }
        "rm" if has(&["--no-preserve-root"]) => "it deletes a whole directory tree",
        "find" if has(&["-delete"]) && of_paths().any(|path| is_root(path)) => "it deletes a whole directory tree",
        "dd" if arguments.iter().any(|argument| argument.starts_with("of=/dev/") && *argument != "of=/dev/null") => {
            "it overwrites a device"
        }
        "shred" | "wipefs" | "fdisk" | "parted" | "sgdisk" => "it overwrites a device or a file for good",
        program if program == "mkfs" || program.starts_with("mkfs.") || program == "mkswap" => "it formats a device",
        "shutdown" | "reboot" | "halt" | "poweroff" => "it stops the machine",
        "init" | "telinit" if has(&["0", "6"]) => "it stops the machine",
        "chmod" | "chown" | "chgrp"
            if (has_letter('R') || has(&["--recursive"])) && of_paths().any(|path| is_root(path)) =>
        {
            "it changes the permissions of a whole directory tree"
        }
        "kill" if has(&["-1"]) && of_paths().count() == 0 => "it ends all processes",
        "crontab" if has_letter('r') => "it removes all scheduled jobs",
        "tee" if of_paths().any(|path| is_of_the_system(path)) => {
            "it writes to a file that the system or a shell trusts"
        }
        "git" if has(&["push"]) && (forces() || has_letter('f')) => "it rewrites history of others",
        _ => return None,
    })
}

fn is_of_the_system(path: &str) -> bool {
    OF_THE_SYSTEM.iter().any(|directory| path.starts_with(directory))
        || TRUSTED_FILES.iter().any(|file| path.ends_with(file))
}
