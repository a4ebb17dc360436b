import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { startProcess } from '../src/pool/sandbox.ts'
import { childrenOf, runs } from './fixtures/processes.ts'
import { program } from './fixtures/programs.ts'
import { until } from './fixtures/until.ts'
import { wasmerStand } from './fixtures/wasmer-stand.ts'

t.test('a spare is made with the first run, and ends when nobody needs it', async (t) => {
  const stand = wasmerStand(t, { spares: 1, idleMs: 500 })
  t.strictSame(childrenOf(), [], 'nothing runs before')
  await stand.run(program('(nop)'))
  await until(() => childrenOf().length === 1, 'only the spare is left')
  const [spare] = childrenOf()
  await until(() => childrenOf().length === 0, 'it has ended')
  t.ok(spare)
  t.strictSame(stand.warnings, [], 'nobody is told of that')
})

t.test('no process outlives a node that is killed, whatever its program does', async (t) => {
  const script = new URL('./fixtures/looping-node.ts', import.meta.url).pathname
  const node = spawn(process.execPath, ['--conditions=nodekeep-source', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => node.kill('SIGKILL'))
  await once(node.stdout, 'data')
  const pids = childrenOf(node.pid)
  t.ok(pids.length >= 2, 'one for the program, and a spare')
  node.kill('SIGKILL')
  await until(() => !pids.some(runs), 'they have ended', 3000)
})

t.test('a process whose node is gone before it is ready ends at once', async (t) => {
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
