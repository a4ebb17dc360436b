import type { Sample } from './sample-module.ts'

/** Gives numbers back as they came, or as their type makes them. */
export const numbers: Sample = {
  wat: `(module
    (func (export "i32") (param i32) (result i32) (local.get 0))
    (func (export "i64") (param i64) (result i64) (local.get 0))
    (func (export "f32") (param f32) (result f32) (local.get 0))
    (func (export "f64") (param f64) (result f64) (local.get 0))
    (func (export "addI32") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "addI64") (param i64 i64) (result i64) (i64.add (local.get 0) (local.get 1)))
    (func (export "nothing"))
    (func (export "all") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
      (local.get 3) (local.get 2) (local.get 1) (local.get 0)))`,
  base64:
    'AGFzbQEAAAABLwhgAX8Bf2ABfgF+YAF9AX1gAXwBfGACf38Bf2ACfn4BfmAAAGAEf359fAR8fX5/AwkIAAECAwQFBgcHOwgDaTMyAAADaTY0AAEDZjMyAAIDZjY0AAMGYWRkSTMyAAQGYWRkSTY0AAUHbm90aGluZwAGA2FsbAAHCjMIBAAgAAsEACAACwQAIAALBAAgAAsHACAAIAFqCwcAIAAgAXwLAgALCgAgAyACIAEgAAs=',
}

/** Exports under names that are hard to handle, and what cannot be called. */
export const names: Sample = {
  wat: `(module
    (func (export "last") (result i32) (i32.const 1))
    (func (export "") (result i32) (i32.const 2))
    (func (export "__proto__") (result i32) (i32.const 3))
    (func (export "constructor") (result i32) (i32.const 4))
    (func (export "gr\\c3\\b6\\c3\\9fe \\e2\\9a\\96\\0a\\22") (result i32) (i32.const 5))
    (func (export "reference") (param externref) (result i32) (i32.const 6))
    (memory (export "memory") 1)
    (global (export "global") i32 (i32.const 7)))`,
  base64:
    'AGFzbQEAAAABCgJgAAF/YAFvAX8DBwYAAAAAAAEFAwEAAQYGAX8AQQcLB1MIBGxhc3QAAAAAAQlfX3Byb3RvX18AAgtjb25zdHJ1Y3RvcgADDWdyw7bDn2Ug4pqWCiIABAlyZWZlcmVuY2UABQZtZW1vcnkCAAZnbG9iYWwDAAofBgQAQQELBABBAgsEAEEDCwQAQQQLBABBBQsEAEEGCw==',
}

/** Counts in a global, and in a memory that begins with zeros. */
export const state: Sample = {
  wat: `(module
    (memory 1)
    (global $count (mut i32) (i32.const 0))
    (func (export "count") (result i32)
      (global.set $count (i32.add (global.get $count) (i32.const 1)))
      (i32.store (i32.const 1000) (i32.add (i32.load (i32.const 1000)) (i32.const 1)))
      (i32.mul (global.get $count) (i32.load (i32.const 1000))))
    (func (export "leftover") (result i64)
      (local $at i32) (local $seen i64)
      (drop (memory.grow (i32.const 3)))
      (loop $next
        (local.set $seen (i64.or (local.get $seen) (i64.load (local.get $at))))
        (i64.store (local.get $at) (i64.const -1))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $next (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
      (local.get $seen)))`,
  base64:
    'AGFzbQEAAAABCQJgAAF/YAABfgMDAgABBQMBAAEGBgF/AUEACwcUAgVjb3VudAAACGxlZnRvdmVyAAEKWAIhACMAQQFqJABB6AdB6AcoAgBBAWo2AgAjAEHoBygCAGwLNAIBfwF+QQNAABoDQCABIAApAwCEIQEgAEJ/NwMAIABBCGohACAAPwBBgIAEbEkNAAsgAQs=',
}

/** Two modules of the same size, whose function returns 1 or 2. */
export const twins: Readonly<Record<'one' | 'two', Sample>> = {
  one: {
    wat: '(module (func (export "which") (result i32) (i32.const 1)))',
    base64: 'AGFzbQEAAAABBQFgAAF/AwIBAAcJAQV3aGljaAAACgYBBABBAQs=',
  },
  two: {
    wat: '(module (func (export "which") (result i32) (i32.const 2)))',
    base64: 'AGFzbQEAAAABBQFgAAF/AwIBAAcJAQV3aGljaAAACgYBBABBAgs=',
  },
}

/** Ends badly, or not at all. */
export const hostile: Sample = {
  wat: `(module
    (memory 1)
    (table 1 funcref)
    (func (export "ok") (result i32) (i32.const 1))
    (func (export "unreachable") (unreachable))
    (func (export "divide") (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0)))
    (func (export "truncate") (param f64) (result i32) (i32.trunc_f64_s (local.get 0)))
    (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
    (func (export "indirect") (call_indirect (i32.const 0)))
    (func $deeper (export "recurse") (result i32) (i32.add (i32.const 1) (call $deeper)))
    (func (export "loop") (loop (br 0)))
    (func (export "spin") (param i64)
      (loop (br_if 0 (i64.ne (i64.const 0)
        (local.tee 0 (i64.sub (local.get 0) (i64.const 1)))))))
    (func (export "grow") (result i32)
      (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow (i32.const 16)))))
      (memory.fill (i32.const 0) (i32.const 1) (i32.mul (memory.size) (i32.const 65536)))
      (memory.size)))`,
  base64:
    'AGFzbQEAAAABFgVgAAF/YAAAYAF/AX9gAXwBf2ABfgADCwoAAQIDAgEAAQQABAQBcAABBQMBAAEHWQoCb2sAAAt1bnJlYWNoYWJsZQABBmRpdmlkZQACCHRydW5jYXRlAAMEbG9hZAAECGluZGlyZWN0AAUHcmVjdXJzZQAGBGxvb3AABwRzcGluAAgEZ3JvdwAJCmkKBABBAQsDAAALBwBBASAAbgsFACAAqgsHACAAKAIACwcAQQARAQALBwBBARAGagsHAANADAALCxEAA0BCACAAQgF9IgBSDQALCx4AA0BBf0EQQABHDQALQQBBAT8AQYCABGz8CwA/AAs=',
}

/** Loops before anything is called. */
export const loopingStart: Sample = {
  wat: '(module (func $main (loop (br 0))) (start $main) (func (export "never")))',
  base64: 'AGFzbQEAAAABBAFgAAADAwIAAAcJAQVuZXZlcgABCAEACgwCBwADQAwACwsCAAs=',
}

/** Begins with 1 GiB. */
export const hugeMemory: Sample = {
  wat: '(module (memory 16384) (func (export "run")))',
  base64: 'AGFzbQEAAAABBAFgAAADAgEABQUBAICAAQcHAQNydW4AAAoEAQIACw==',
}

/** Its table has nine million elements. */
export const hugeTable: Sample = {
  wat: '(module (table 9000000 funcref) (func (export "run")))',
  base64: 'AGFzbQEAAAABBAFgAAADAgEABAcBcADAqKUEBwcBA3J1bgAACgQBAgAL',
}

/** Begins with 8 MiB of memory and a table, neither of which can grow. */
export const memoryAndTable: Sample = {
  wat: '(module (memory 128 128) (table 500000 500000 funcref) (func (export "run")))',
  base64: 'AGFzbQEAAAABBAFgAAADAgEABAkBcAGgwh6gwh4FBgEBgAGAAQcHAQNydW4AAAoEAQIACw==',
}

/** Fills each of four memories with as much as it can get. */
export const manyMemories: Sample = {
  wat: `(module
    (memory $a 1) (memory $b 1) (memory $c 1) (memory $d 1)
    (func (export "grow") (result i32)
      (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow $a (i32.const 16)))))
      (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow $b (i32.const 16)))))
      (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow $c (i32.const 16)))))
      (loop (br_if 0 (i32.ne (i32.const -1) (memory.grow $d (i32.const 16)))))
      (i32.add (i32.add (memory.size $a) (memory.size $b)) (i32.add (memory.size $c) (memory.size $d)))))`,
  base64:
    'AGFzbQEAAAABBQFgAAF/AwIBAAUJBAABAAEAAQABBwgBBGdyb3cAAAo/AT0AA0BBf0EQQABHDQALA0BBf0EQQAFHDQALA0BBf0EQQAJHDQALA0BBf0EQQANHDQALPwA/AWo/Aj8DamoL',
}

/** Wants things of its host. */
export const imports: Readonly<Record<string, Sample>> = {
  clock: {
    wat: '(module (import "host" "clock" (func (result f64))) (func (export "run")))',
    base64: 'AGFzbQEAAAABCAJgAAF8YAAAAg4BBGhvc3QFY2xvY2sAAAMCAQEHBwEDcnVuAAEKBAECAAs=',
  },
  store: {
    wat: '(module (import "host" "store" (memory 1)) (func (export "run")))',
    base64: 'AGFzbQEAAAABBAFgAAACDwEEaG9zdAVzdG9yZQIAAQMCAQAHBwEDcnVuAAAKBAECAAs=',
  },
  calls: {
    wat: '(module (import "host" "calls" (table 1 funcref)) (func (export "run")))',
    base64: 'AGFzbQEAAAABBAFgAAACEAEEaG9zdAVjYWxscwFwAAEDAgEABwcBA3J1bgAACgQBAgAL',
  },
  secret: {
    wat: '(module (import "host" "secret" (global i32)) (func (export "run")))',
    base64: 'AGFzbQEAAAABBAFgAAACEAEEaG9zdAZzZWNyZXQDfwADAgEABwcBA3J1bgAACgQBAgAL',
  },
}
