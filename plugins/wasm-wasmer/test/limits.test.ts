import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { childrenOf, residentBytes } from './fixtures/processes.ts'
import {
  connecting,
  endlessLoop,
  endlessOutput,
  memoryEater,
  program,
  threadBomb,
} from './fixtures/programs.ts'
import { until } from './fixtures/until.ts'
import { createRuntime } from './fixtures/wasmer-stand.ts'

const mebibyte = 2 ** 20

t.test('a loop and its process end soon after the time limit', async (t) => {
  const fixture = createRuntime(t)
  await t.rejects(fixture.run(endlessLoop, { timeoutMs: 300 }), {
    code: 'UNPROCESSABLE',
    message: 'The time limit of 300 ms was reached.',
  })
  await until(() => childrenOf().length === 0, 'the process has ended')
})

t.test('a start function that loops is stopped', async (t) => {
  const text = program('(nop)', '', '(func $first (loop (br 0))) (start $first)')
  await t.rejects(createRuntime(t).run(text, { timeoutMs: 300 }), { message: /time limit/ })
})

t.test(
  'the output limit counts both streams together, and ends a program before the time limit',
  async (t) => {
    await t.rejects(createRuntime(t).run(endlessOutput, { outputBytes: 200 * 1024 }), {
      code: 'UNPROCESSABLE',
      message: 'The output limit of 200 KiB was reached.',
    })
  },
)

t.test('a program gets exactly its limit of memory', async (t) => {
  const fixture = createRuntime(t, { spares: 1 })
  for (const size of [1, 90]) {
    t.equal((await fixture.run(memoryEater, { memoryBytes: size * mebibyte })).exitCode, size)
  }
  const large = '(module (memory (export "memory") 100) (func (export "_start")))'
  await t.rejects(fixture.run(large, { memoryBytes: 4 * mebibyte }), {
    code: 'UNPROCESSABLE',
    message: 'The memory limit of 4 MiB was reached.',
  })
})

t.test('a limit beyond the largest possible memory is accepted', async (t) => {
  t.equal((await createRuntime(t).run(program('(nop)'), { memoryBytes: 65_536 * mebibyte })).exitCode, 0)
})

t.test('memories with 64-bit addresses are refused, both defined and imported', async (t) => {
  const fixture = createRuntime(t)
  const memories = [
    '(memory (export "memory") 1) (memory i64 1)',
    '(import "env" "memory" (memory i64 1)) (export "memory" (memory 0))',
  ]
  for (const memory of memories) {
    const attempt = fixture.run(`(module ${memory} (func (export "_start")))`)
    await t.rejects(attempt, { code: 'VALIDATION_ERROR', message: /64-bit addresses/ }, memory)
  }
})

t.test('threads without end are stopped, and stay within the memory limit', async (t) => {
  const fixture = createRuntime(t)
  let most = 0
  let done = false
  const bomb = fixture.run(threadBomb, { timeoutMs: 1000 }).finally(() => {
    done = true
  })
  const watch = async () => {
    while (!done) {
      for (const pid of childrenOf()) most = Math.max(most, residentBytes(pid))
      await setTimeout(20)
    }
  }
  await Promise.all([t.rejects(bomb, { code: 'UNPROCESSABLE' }), watch()])
  t.ok(most < 600 * mebibyte, `the process had at most ${Math.round(most / mebibyte)} MiB`)
  await until(() => childrenOf().length === 0, 'the process has ended')
})

t.test('a program has no network', async (t) => {
  let connections = 0
  const server = createServer(() => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  t.not((await createRuntime(t).run(connecting(port))).exitCode, 0)
  t.equal(connections, 0)
})
