import type { Sample } from './sample-module.ts'

/** Writes its arguments to stdout and its environment to stderr, each with a NUL behind it, then its input to stdout. */
export const echo: Sample = {
  wat: `(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $env_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_get" (func $env (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 4)
    (func $put (param $fd i32) (param $at i32) (param $left i32)
      (loop $more
        (if (i32.eqz (local.get $left)) (then (return)))
        (i32.store (i32.const 0) (local.get $at))
        (i32.store (i32.const 4) (local.get $left))
        (if (call $write (local.get $fd) (i32.const 0) (i32.const 1) (i32.const 8)) (then (unreachable)))
        (local.set $at (i32.add (local.get $at) (i32.load (i32.const 8))))
        (local.set $left (i32.sub (local.get $left) (i32.load (i32.const 8))))
        (br $more)))
    (func (export "_start")
      (local $count i32)
      (drop (call $args_sizes (i32.const 16) (i32.const 20)))
      (local.set $count (i32.load (i32.const 16)))
      (drop (call $args (i32.const 1024) (i32.const 65536)))
      (call $put (i32.const 1) (i32.const 65536) (i32.load (i32.const 20)))
      (drop (call $env_sizes (i32.const 16) (i32.const 20)))
      (drop (call $env (i32.const 8192) (i32.const 131072)))
      (call $put (i32.const 2) (i32.const 131072) (i32.load (i32.const 20)))
      (block $end
        (loop $next
          (i32.store (i32.const 32) (i32.const 16384))
          (i32.store (i32.const 36) (i32.const 16384))
          (if (call $read (i32.const 0) (i32.const 32) (i32.const 1) (i32.const 40)) (then (unreachable)))
          (br_if $end (i32.eqz (i32.load (i32.const 40))))
          (call $put (i32.const 1) (i32.const 16384) (i32.load (i32.const 40)))
          (br $next)))
      ;; As many as it was given: the first is its name.
      (call $exit (i32.sub (local.get $count) (i32.const 1)))))`,
  base64:
    'AGFzbQEAAAABHAVgAn9/AX9gBH9/f38Bf2ABfwBgA39/fwBgAAACgQIHFndhc2lfc25hcHNob3RfcHJldmlldzEOYXJnc19zaXplc19nZXQAABZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGFyZ3NfZ2V0AAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MRFlbnZpcm9uX3NpemVzX2dldAAAFndhc2lfc25hcHNob3RfcHJldmlldzELZW52aXJvbl9nZXQAABZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxB2ZkX3JlYWQAARZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGZkX3dyaXRlAAEWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQlwcm9jX2V4aXQAAgMDAgMEBQMBAAQHEwIGbWVtb3J5AgAGX3N0YXJ0AAgKzgECPgADQCACRQRADwtBACABNgIAQQQgAjYCACAAQQBBAUEIEAUEQAALIAFBCCgCAGohASACQQgoAgBrIQIMAAsLjAEBAX9BEEEUEAAaQRAoAgAhAEGACEGAgAQQARpBAUGAgARBFCgCABAHQRBBFBACGkGAwABBgIAIEAMaQQJBgIAIQRQoAgAQBwJAA0BBIEGAgAE2AgBBJEGAgAE2AgBBAEEgQQFBKBAEBEAAC0EoKAIARQ0BQQFBgIABQSgoAgAQBwwACwsgAEEBaxAGCw==',
}

/**
 * Writes `out` to stdout and `why` to stderr. Then ends badly, or not at all, as its argument says: `l` loops, `s` sleeps for an hour, `f` writes without end, `t`
 * traps, `g` takes all the memory that there is, writes to all of it, and exits with the number of MiB.
 */
export const hostileProgram: Sample = {
  wat: `(module
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 64) "outwhy")
    (func (export "_start")
      (local $what i32)
      (drop (call $args (i32.const 1024) (i32.const 4096)))
      (local.set $what (i32.load8_u (i32.load (i32.const 1028))))
      (i32.store (i32.const 0) (i32.const 64))
      (i32.store (i32.const 4) (i32.const 3))
      (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (i32.store (i32.const 0) (i32.const 67))
      (drop (call $write (i32.const 2) (i32.const 0) (i32.const 1) (i32.const 8)))
      (if (i32.eq (local.get $what) (i32.const 108)) (then (loop (br 0))))
      (if (i32.eq (local.get $what) (i32.const 115))
        (then
          ;; A subscription to the monotonic clock.
          (i32.store8 (i32.const 8) (i32.const 0))
          (i32.store (i32.const 16) (i32.const 1))
          (i64.store (i32.const 24) (i64.const 3600000000000))
          (drop (call $poll (i32.const 0) (i32.const 128) (i32.const 1) (i32.const 256)))))
      (if (i32.eq (local.get $what) (i32.const 102))
        (then
          (i32.store (i32.const 0) (i32.const 8192))
          (i32.store (i32.const 4) (i32.const 8192))
          (loop $next
            (br_if $next (i32.eqz (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))))
      (if (i32.eq (local.get $what) (i32.const 116)) (then (unreachable)))
      (loop $more (br_if $more (i32.ne (i32.const -1) (memory.grow (i32.const 16)))))
      (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536)))
      (call $exit (i32.div_u (memory.size) (i32.const 16)))))`,
  base64:
    'AGFzbQEAAAABFgRgAn9/AX9gBH9/f38Bf2ABfwBgAAACjQEEFndhc2lfc25hcHNob3RfcHJldmlldzEIYXJnc19nZXQAABZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGZkX3dyaXRlAAEWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQtwb2xsX29uZW9mZgABFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAIDAgEDBQMBAAEHEwIGbWVtb3J5AgAGX3N0YXJ0AAQK3QEB2gEBAX9BgAhBgCAQABpBhAgoAgAtAAAhAEEAQcAANgIAQQRBAzYCAEEBQQBBAUEIEAEaQQBBwwA2AgBBAkEAQQFBCBABGiAAQewARgRAA0AMAAsLIABB8wBGBEBBCEEAOgAAQRBBATYCAEEYQoDA4oXj6AA3AwBBAEGAAUEBQYACEAIaCyAAQeYARgRAQQBBgMAANgIAQQRBgMAANgIAA0BBAUEAQQFBCBABRQ0ACwsgAEH0AEYEQAALA0BBf0EQQABHDQALQQBBAT8AQYCABGz8CwA/AEEQbhADCwsNAQBBwAALBm91dHdoeQ==',
}

/** Wants something that is no part of WASI. */
export const strangeProgram: Sample = {
  wat: '(module (import "host" "secrets" (func)) (memory (export "memory") 1) (func (export "_start")))',
  base64: 'AGFzbQEAAAABBAFgAAACEAEEaG9zdAdzZWNyZXRzAAADAgEABQMBAAEHEwIGbWVtb3J5AgAGX3N0YXJ0AAEKBAECAAs=',
}

/** Exits with the greatest code. */
export const greatestExit: Sample = {
  wat: `(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func (export "_start") (call $exit (i32.const -1))))`,
  base64:
    'AGFzbQEAAAABCAJgAX8AYAAAAiQBFndhc2lfc25hcHNob3RfcHJldmlldzEJcHJvY19leGl0AAADAgEBBQMBAAEHEwIGbWVtb3J5AgAGX3N0YXJ0AAEKCAEGAEF/EAAL',
}
