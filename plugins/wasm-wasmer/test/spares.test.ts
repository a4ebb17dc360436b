import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { startProcess } from '../src/pool/sandbox.ts'
import { childrenOf, runs } from './fixtures/processes.ts'
import { program } from './fixtures/programs.ts'
import { until } from './fixtures/until.ts'
import { createRuntime } from './fixtures/wasmer-stand.ts'

t.test('a spare starts with the first run, and ends when it is idle', async (t) => {
  const fixture = createRuntime(t, { spares: 1, idleMs: 500 })
  t.strictSame(childrenOf(), [], 'no process runs before the first run')
  await fixture.run(program('(nop)'))
  await until(() => childrenOf().length === 1, 'only the spare remains')
  const [spare] = childrenOf()
  await until(() => childrenOf().length === 0, 'the spare has ended')
  t.ok(spare)
  t.strictSame(fixture.warnings, [], 'the log has no warning about it')
})

t.test('no process outlives a node that is killed, even if its program loops', async (t) => {
  const script = new URL('./fixtures/looping-node.ts', import.meta.url).pathname
  const node = spawn(process.execPath, ['--conditions=nodekeep-source', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => node.kill('SIGKILL'))
  await once(node.stdout, 'data')
  const pids = childrenOf(node.pid)
  t.ok(pids.length >= 2, 'the node has a process for the program and a spare')
  node.kill('SIGKILL')
  await until(() => !pids.some(runs), 'all processes have ended')
})

t.test('a process whose node ends before the process is ready ends at once', async (t) => {
  let greeted = false
  const ended = Promise.withResolvers<void>()
  const sandbox = startProcess(32 * 2 ** 20, 'spare', {
    data: () => {
      greeted = true
    },
    ended: () => ended.resolve(),
  })
  sandbox.input.end()
  await ended.promise
  t.notOk(greeted)
})
