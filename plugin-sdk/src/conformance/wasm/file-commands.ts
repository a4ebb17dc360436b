import type { Sample } from './sample-module.ts'

/**
 * Runs the commands in its arguments. A command is three arguments: a letter, the absolute path of a file, and a text. `r`
 * writes the file to stdout, `w` writes the text to the file, `d` removes the file, `s` makes it a symbolic link to the text
 * and writes the file behind the link to stdout. `x` writes the text and traps, `l` writes it and loops, `e` writes it and
 * exits with its length as the code. `k` removes the folder, `p` lists it in small portions, removes the files of each portion
 * before it reads the next one, and writes their names to stdout, each with a slash behind it. `t` writes the time of modification
 * to stdout, and `u` sets it to the text: 16 digits from `a` to `p`, of nanoseconds. `f` writes the types of the descriptors 0 to
 * 2 to stdout, as such digits. After each command, stdout has a NUL and the errno of WASI as a byte.
 */
export const fileCommands: Sample = {
  wat: `(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $dir_name (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
      (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_remove_directory" (func $rmdir (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_filestat_get" (func $stat (param i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_filestat_set_times"
      (func $set_times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_readdir" (func $readdir (param i32 i32 i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_fdstat_get" (func $fdstat (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 2)
    (global $folder (mut i32) (i32.const -1))
    (global $path (mut i32) (i32.const 0))
    (func $length (param $text i32) (result i32)
      (local $at i32)
      (local.set $at (local.get $text))
      (loop $next
        (if (i32.load8_u (local.get $at))
          (then (local.set $at (i32.add (local.get $at) (i32.const 1))) (br $next))))
      (i32.sub (local.get $at) (local.get $text)))
    ;; Whether a path is in a folder, whose name has no slash at its end.
    (func $within (param $at i32) (param $name i32) (param $size i32) (result i32)
      (loop $next
        (if (i32.eqz (local.get $size)) (then (return (i32.eq (i32.load8_u (local.get $at)) (i32.const 47)))))
        (if (i32.ne (i32.load8_u (local.get $at)) (i32.load8_u (local.get $name))) (then (return (i32.const 0))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $name (i32.add (local.get $name) (i32.const 1)))
        (local.set $size (i32.sub (local.get $size) (i32.const 1)))
        (br $next))
      (unreachable))
    ;; Finds the opened folder with the longest name that a path is in, and the path from there on.
    (func $find (param $at i32) (result i32)
      (local $fd i32) (local $size i32) (local $longest i32) (local $last i32)
      (global.set $folder (i32.const -1))
      (local.set $fd (i32.const 3))
      (local.set $longest (i32.const -1))
      (block $end
        (loop $next
          (br_if $end (call $prestat (local.get $fd) (i32.const 64)))
          (local.set $size (i32.load (i32.const 68)))
          (br_if $end (call $dir_name (local.get $fd) (i32.const 512) (local.get $size)))
          (loop $strip
            (if (local.get $size)
              (then
                (local.set $last (i32.load8_u (i32.add (i32.const 511) (local.get $size))))
                (if (i32.or (i32.eqz (local.get $last)) (i32.eq (local.get $last) (i32.const 47)))
                  (then (local.set $size (i32.sub (local.get $size) (i32.const 1))) (br $strip))))))
          (if (i32.and (i32.gt_s (local.get $size) (local.get $longest))
                (call $within (local.get $at) (i32.const 512) (local.get $size)))
            (then
              (local.set $longest (local.get $size))
              (global.set $folder (local.get $fd))
              (global.set $path (i32.add (i32.add (local.get $at) (local.get $size)) (i32.const 1)))))
          (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
          (br $next)))
      ;; Not capable.
      (select (i32.const 76) (i32.const 0) (i32.lt_s (global.get $folder) (i32.const 0))))
    ;; Puts the descriptor to 96.
    (func $opened (param $flags i32) (param $rights i64) (result i32)
      (call $open (global.get $folder) (i32.const 1) (global.get $path) (call $length (global.get $path))
        (local.get $flags) (local.get $rights) (i64.const 0) (i32.const 0) (i32.const 96)))
    (func $put (param $fd i32) (param $at i32) (param $left i32) (result i32)
      (local $errno i32)
      (loop $more
        (if (i32.eqz (local.get $left)) (then (return (i32.const 0))))
        (i32.store (i32.const 0) (local.get $at))
        (i32.store (i32.const 4) (local.get $left))
        (local.set $errno (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8)))
        (if (local.get $errno) (then (return (local.get $errno))))
        (local.set $at (i32.add (local.get $at) (i32.load (i32.const 8))))
        (local.set $left (i32.sub (local.get $left) (i32.load (i32.const 8))))
        (br $more))
      (unreachable))
    (func $show (result i32)
      (local $errno i32)
      ;; To read.
      (local.set $errno (call $opened (i32.const 0) (i64.const 2)))
      (if (local.get $errno) (then (return (local.get $errno))))
      (loop $next
        (i32.store (i32.const 0) (i32.const 16384))
        (i32.store (i32.const 4) (i32.const 16384))
        (local.set $errno (call $read (i32.load (i32.const 96)) (i32.const 0) (i32.const 1) (i32.const 12)))
        (if (local.get $errno) (then (return (local.get $errno))))
        (if (i32.eqz (i32.load (i32.const 12))) (then (return (call $close (i32.load (i32.const 96))))))
        (local.set $errno (call $put (i32.const 1) (i32.const 16384) (i32.load (i32.const 12))))
        (if (local.get $errno) (then (return (local.get $errno))))
        (br $next))
      (unreachable))
    (func $store (param $text i32) (result i32)
      (local $errno i32)
      ;; Made or emptied, to write.
      (local.set $errno (call $opened (i32.const 9) (i64.const 64)))
      (if (local.get $errno) (then (return (local.get $errno))))
      (local.set $errno (call $put (i32.load (i32.const 96)) (local.get $text) (call $length (local.get $text))))
      (if (local.get $errno) (then (return (local.get $errno))))
      (call $close (i32.load (i32.const 96))))
    ;; Removes the file in the folder of the path, and writes its name.
    (func $unlink_in (param $name i32) (param $size i32) (result i32)
      (local $length i32) (local $errno i32)
      (local.set $length (call $length (global.get $path)))
      (memory.copy (i32.const 32768) (global.get $path) (local.get $length))
      (i32.store8 (i32.add (i32.const 32768) (local.get $length)) (i32.const 47))
      (local.set $length (i32.add (local.get $length) (i32.const 1)))
      (memory.copy (i32.add (i32.const 32768) (local.get $length)) (local.get $name) (local.get $size))
      (local.set $errno (call $unlink (global.get $folder) (i32.const 32768)
        (i32.add (local.get $length) (local.get $size))))
      (if (local.get $errno) (then (return (local.get $errno))))
      (i32.store8 (i32.add (local.get $name) (local.get $size)) (i32.const 47))
      (call $put (i32.const 1) (local.get $name) (i32.add (local.get $size) (i32.const 1))))
    (func $purge (result i32)
      (local $errno i32) (local $fd i32) (local $cookie i64) (local $at i32) (local $end i32) (local $size i32)
      ;; A folder, to read it.
      (local.set $errno (call $opened (i32.const 2) (i64.const 16384)))
      (if (local.get $errno) (then (return (local.get $errno))))
      (local.set $fd (i32.load (i32.const 96)))
      (loop $portion
        (local.set $errno (call $readdir (local.get $fd) (i32.const 16384) (i32.const 100) (local.get $cookie)
          (i32.const 12)))
        (if (local.get $errno) (then (return (local.get $errno))))
        (local.set $at (i32.const 16384))
        (local.set $end (i32.add (i32.const 16384) (i32.load (i32.const 12))))
        (block $read
          (loop $next
            (br_if $read (i32.gt_u (i32.add (local.get $at) (i32.const 24)) (local.get $end)))
            (local.set $size (i32.load (i32.add (local.get $at) (i32.const 16))))
            (br_if $read
              (i32.gt_u (i32.add (i32.add (local.get $at) (i32.const 24)) (local.get $size)) (local.get $end)))
            (local.set $cookie (i64.load (local.get $at)))
            ;; Aside, because the name gets a slash.
            (memory.copy (i32.const 40000) (i32.add (local.get $at) (i32.const 24)) (local.get $size))
            (if (i32.ne (i32.load8_u (i32.const 40000)) (i32.const 46))
              (then
                (local.set $errno (call $unlink_in (i32.const 40000) (local.get $size)))
                (if (local.get $errno) (then (return (local.get $errno))))))
            (local.set $at (i32.add (i32.add (local.get $at) (i32.const 24)) (local.get $size)))
            (br $next)))
        (br_if $portion (i32.eq (i32.load (i32.const 12)) (i32.const 100))))
      (call $close (local.get $fd)))
    (func $put_digit (param $digit i32) (result i32)
      (i32.store8 (i32.const 104) (i32.add (local.get $digit) (i32.const 97)))
      (call $put (i32.const 1) (i32.const 104) (i32.const 1)))
    (func $show_time (result i32)
      (local $errno i32) (local $shift i64)
      (local.set $errno (call $stat (global.get $folder) (i32.const 0) (global.get $path)
        (call $length (global.get $path)) (i32.const 128)))
      (if (local.get $errno) (then (return (local.get $errno))))
      (local.set $shift (i64.const 64))
      (loop $next
        (local.set $shift (i64.sub (local.get $shift) (i64.const 4)))
        (drop (call $put_digit
          (i32.wrap_i64 (i64.and (i64.const 15) (i64.shr_u (i64.load (i32.const 176)) (local.get $shift))))))
        (br_if $next (i64.ne (local.get $shift) (i64.const 0))))
      (i32.const 0))
    (func $set_time (param $text i32) (result i32)
      (local $time i64)
      (loop $next
        (if (i32.load8_u (local.get $text))
          (then
            (local.set $time
              (i64.or
                (i64.shl (local.get $time) (i64.const 4))
                (i64.extend_i32_u (i32.sub (i32.load8_u (local.get $text)) (i32.const 97)))))
            (local.set $text (i32.add (local.get $text) (i32.const 1)))
            (br $next))))
      ;; Only the time of modification.
      (call $set_times (global.get $folder) (i32.const 0) (global.get $path) (call $length (global.get $path))
        (i64.const 0) (local.get $time) (i32.const 4)))
    (func $show_types (result i32)
      (local $fd i32) (local $errno i32)
      (loop $next
        (local.set $errno (call $fdstat (local.get $fd) (i32.const 128)))
        (if (local.get $errno) (then (return (local.get $errno))))
        (drop (call $put_digit (i32.load8_u (i32.const 128))))
        (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $fd) (i32.const 3))))
      (i32.const 0))
    (func $act (param $what i32) (param $text i32) (result i32)
      (local $errno i32)
      ;; k, p, t, u, f
      (if (i32.eq (local.get $what) (i32.const 107))
        (then
          (return
            (call $rmdir (global.get $folder) (global.get $path) (call $length (global.get $path))))))
      (if (i32.eq (local.get $what) (i32.const 112)) (then (return (call $purge))))
      (if (i32.eq (local.get $what) (i32.const 116)) (then (return (call $show_time))))
      (if (i32.eq (local.get $what) (i32.const 117)) (then (return (call $set_time (local.get $text)))))
      (if (i32.eq (local.get $what) (i32.const 102)) (then (return (call $show_types))))
      ;; r, w, x, l, e, d, s
      (if (i32.eq (local.get $what) (i32.const 114)) (then (return (call $show))))
      (if (i32.eq (local.get $what) (i32.const 119)) (then (return (call $store (local.get $text)))))
      (if (i32.eq (local.get $what) (i32.const 120)) (then (drop (call $store (local.get $text))) (unreachable)))
      (if (i32.eq (local.get $what) (i32.const 108))
        (then (drop (call $store (local.get $text))) (loop (br 0))))
      (if (i32.eq (local.get $what) (i32.const 101))
        (then (drop (call $store (local.get $text))) (call $exit (call $length (local.get $text)))))
      (if (i32.eq (local.get $what) (i32.const 100))
        (then
          (return
            (call $unlink (global.get $folder) (global.get $path) (call $length (global.get $path))))))
      (local.set $errno (call $symlink (local.get $text) (call $length (local.get $text))
        (global.get $folder) (global.get $path) (call $length (global.get $path))))
      (if (local.get $errno) (then (return (local.get $errno))))
      (call $show))
    (func (export "_start")
      (local $left i32) (local $argument i32) (local $errno i32)
      (drop (call $args_sizes (i32.const 16) (i32.const 20)))
      (local.set $left (i32.div_u (i32.load (i32.const 16)) (i32.const 3)))
      (drop (call $args (i32.const 1024) (i32.const 65536)))
      (local.set $argument (i32.const 1028))
      (loop $next
        (if (i32.eqz (local.get $left)) (then (return)))
        (local.set $errno (call $find (i32.load (i32.add (local.get $argument) (i32.const 4)))))
        (if (i32.eqz (local.get $errno))
          (then
            (local.set $errno
              (call $act (i32.load8_u (i32.load (local.get $argument)))
                (i32.load (i32.add (local.get $argument) (i32.const 8)))))))
        (i32.store8 (i32.const 100) (i32.const 0))
        (i32.store8 (i32.const 101) (local.get $errno))
        (drop (call $put (i32.const 1) (i32.const 100) (i32.const 2)))
        (local.set $argument (i32.add (local.get $argument) (i32.const 12)))
        (local.set $left (i32.sub (local.get $left) (i32.const 1)))
        (br $next))))`,
  base64:
    'AGFzbQEAAAABVgxgAn9/AX9gA39/fwF/YAl/f39/f35+f38Bf2AFf39/f38Bf2AHf39/f35+fwF/YAV/f39+fwF/YAR/f39/AX9gAX8Bf2ABfwBgAn9+AX9gAAF/YAAAAvEEEBZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxDmFyZ3Nfc2l6ZXNfZ2V0AAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhhcmdzX2dldAAAFndhc2lfc25hcHNob3RfcHJldmlldzEOZmRfcHJlc3RhdF9nZXQAABZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxE2ZkX3ByZXN0YXRfZGlyX25hbWUAARZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCXBhdGhfb3BlbgACFndhc2lfc25hcHNob3RfcHJldmlldzEQcGF0aF91bmxpbmtfZmlsZQABFndhc2lfc25hcHNob3RfcHJldmlldzEVcGF0aF9yZW1vdmVfZGlyZWN0b3J5AAEWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MRFwYXRoX2ZpbGVzdGF0X2dldAADFndhc2lfc25hcHNob3RfcHJldmlldzEXcGF0aF9maWxlc3RhdF9zZXRfdGltZXMABBZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCmZkX3JlYWRkaXIABRZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxDWZkX2Zkc3RhdF9nZXQAABZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxDHBhdGhfc3ltbGluawADFndhc2lfc25hcHNob3RfcHJldmlldzEHZmRfcmVhZAAGFndhc2lfc25hcHNob3RfcHJldmlldzEIZmRfd3JpdGUABhZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGZkX2Nsb3NlAAcWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQlwcm9jX2V4aXQACAMQDwcBBwkBCgcACgcKBwoACwUDAQACBgsCfwFBfwt/AUEACwcTAgZtZW1vcnkCAAZfc3RhcnQAHgrFCg8hAQF/IAAhAQNAIAEtAAAEQCABQQFqIQEMAQsLIAEgAGsLPQADQCACRQRAIAAtAABBL0YPCyAALQAAIAEtAABHBEBBAA8LIABBAWohACABQQFqIQEgAkEBayECDAALAAuSAQEEf0F/JABBAyEBQX8hAwJAA0AgAUHAABACDQFBxAAoAgAhAiABQYAEIAIQAw0BA0AgAgRAQf8DIAJqLQAAIQQgBEUgBEEvRnIEQCACQQFrIQIMAgsLCyACIANKIABBgAQgAhARcQRAIAIhAyABJAAgACACakEBaiQBCyABQQFqIQEMAAsLQcwAQQAjAEEASBsLGQAjAEEBIwEjARAQIAAgAUIAQQBB4AAQBAtJAQF/A0AgAkUEQEEADwtBACABNgIAQQQgAjYCACAAQQBBAUEIEA0hAyADBEAgAw8LIAFBCCgCAGohASACQQgoAgBrIQIMAAsAC20BAX9BAEICEBMhACAABEAgAA8LA0BBAEGAgAE2AgBBBEGAgAE2AgBB4AAoAgBBAEEBQQwQDCEAIAAEQCAADwtBDCgCAEUEQEHgACgCABAODwtBAUGAgAFBDCgCABAUIQAgAARAIAAPCwwACwALNQEBf0EJQsAAEBMhASABBEAgAQ8LQeAAKAIAIAAgABAQEBQhASABBEAgAQ8LQeAAKAIAEA4LZAECfyMBEBAhAkGAgAIjASAC/AoAAEGAgAIgAmpBLzoAACACQQFqIQJBgIACIAJqIAAgAfwKAAAjAEGAgAIgAiABahAFIQMgAwRAIAMPCyAAIAFqQS86AABBASAAIAFBAWoQFAvHAQMCfwF+A39BAkKAgAEQEyEAIAAEQCAADwtB4AAoAgAhAQNAIAFBgIABQeQAIAJBDBAJIQAgAARAIAAPC0GAgAEhA0GAgAFBDCgCAGohBAJAA0AgA0EYaiAESw0BIANBEGooAgAhBSADQRhqIAVqIARLDQEgAykDACECQcC4AiADQRhqIAX8CgAAQcC4Ai0AAEEuRwRAQcC4AiAFEBchACAABEAgAA8LCyADQRhqIAVqIQMMAAsLQQwoAgBB5ABGDQALIAEQDgsXAEHoACAAQeEAajoAAEEBQegAQQEQFAtHAgF/AX4jAEEAIwEjARAQQYABEAchACAABEAgAA8LQsAAIQEDQCABQgR9IQFCD0GwASkDACABiIOnEBkaIAFCAFINAAtBAAs8AQF+A0AgAC0AAARAIAFCBIYgAC0AAEHhAGuthCEBIABBAWohAAwBCwsjAEEAIwEjARAQQgAgAUEEEAgLMQECfwNAIABBgAEQCiEBIAEEQCABDwtBgAEtAAAQGRogAEEBaiEAIABBA0kNAAtBAAvKAQEBfyAAQesARgRAIwAjASMBEBAQBg8LIABB8ABGBEAQGA8LIABB9ABGBEAQGg8LIABB9QBGBEAgARAbDwsgAEHmAEYEQBAcDwsgAEHyAEYEQBAVDwsgAEH3AEYEQCABEBYPCyAAQfgARgRAIAEQFhoACyAAQewARgRAIAEQFhoDQAwACwsgAEHlAEYEQCABEBYaIAEQEBAPCyAAQeQARgRAIwAjASMBEBAQBQ8LIAEgARAQIwAjASMBEBAQCyECIAIEQCACDwsQFQt+AQN/QRBBFBAAGkEQKAIAQQNuIQBBgAhBgIAEEAEaQYQIIQEDQCAARQRADwsgAUEEaigCABASIQIgAkUEQCABKAIALQAAIAFBCGooAgAQHSECC0HkAEEAOgAAQeUAIAI6AABBAUHkAEECEBQaIAFBDGohASAAQQFrIQAMAAsL',
}
