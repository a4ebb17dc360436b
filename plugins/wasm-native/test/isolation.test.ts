import { readdirSync, readlinkSync } from 'node:fs'
import { test } from 'tap'
import { createRuntime } from './fixtures/native-stand.ts'
import { read, sandboxesOf } from './fixtures/processes.ts'

const idle = '(module (func (export "f")))'

test('a sandbox has no environment, no secret arguments, and no file except its pipes', async (t) => {
  process.env.NODEKEEP_SECRET = 'secret'
  t.teardown(() => delete process.env.NODEKEEP_SECRET)
  const fixture = createRuntime(t)
  await fixture.call(idle, 'f')
  const [pid = 0] = sandboxesOf()
  t.equal(read(pid, 'environ'), '')
  t.equal(readlinkSync(`/proc/${pid}/cwd`), '/')
  const files = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
  // Sockets are the three pipes to the node. Files without an inode belong to Node itself, which also reads what it uses of the machine.
  const itsOwn = /^(anon_inode:|pipe:|socket:|\/dev\/null|\/proc\/\d+\/stat$)/
  t.same(
    files.filter((file) => !itsOwn.test(file)),
    [],
  )
  t.equal(files.filter((file) => file.startsWith('socket:')).length, 3)
})

test('a sandbox has no permission to read, write, connect or start processes', async (t) => {
  const fixture = createRuntime(t)
  await fixture.call(idle, 'f')
  const [pid = 0] = sandboxesOf()
  const args = read(pid, 'cmdline').split('\0')
  t.ok(args.includes('--permission'))
  const allowed = args.filter((arg) => arg.startsWith('--allow'))
  const folders = [
    /^--allow-fs-read=.*\/wasm-native\/(src|dist)\/sandbox\/$/,
    /^--allow-fs-read=.*\/plugin-sdk\/(src|dist)\/sandbox-process\/inside\/$/,
    /^--allow-fs-read=.*\/wasm-native\/(src|dist)\/protocol\/$/,
    // From the sources: the same files without their types.
    /^--allow-fs-read=.*\/nodekeep-sources-\w+\/sources-\d+\.mjs$/,
  ]
  t.equal(allowed.length, folders.length)
  for (const [index, folder] of folders.entries()) t.match(allowed[index], folder)
  const bounds = read(pid, 'limits')
  t.match(bounds, /^Max core file size +0 +0 /m)
  t.match(bounds, /^Max file size +0 +0 /m)
  t.match(bounds, /^Max open files +64 +64 /m)
})

test('a run sees no memory of another run', async (t) => {
  const fixture = createRuntime(t)
  const spy = `(module (memory 16) (global $seen (mut i32) (i32.const 0))
    (func (export "leave") (memory.fill (i32.const 0) (i32.const 0x5a) (i32.const 1048576)))
    (func (export "look") (result i64)
      (local $at i32) (local $all i64)
      (loop $next
        (local.set $all (i64.or (local.get $all) (i64.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 8)))
        (br_if $next (i32.lt_u (local.get $at) (i32.const 1048576))))
      (local.get $all)))`
  const calls = Array.from({ length: 60 }, (_, index) =>
    fixture.call(spy, index % 2 === 0 ? 'leave' : 'look'),
  )
  const seen = (await Promise.all(calls)).filter((_, index) => index % 2 === 1)
  t.strictSame(
    seen,
    seen.map(() => [0]),
  )
})
