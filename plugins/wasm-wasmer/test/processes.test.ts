import t from 'tap'
import { childrenOf, processorMs, runs } from './fixtures/processes.ts'
import { createProgramNode } from './fixtures/program-node.ts'
import { endlessLoop, program } from './fixtures/programs.ts'
import { until } from './fixtures/until.ts'
import { wasmerStand } from './fixtures/wasmer-stand.ts'

t.test('an aborted run ends with the reason, at once', async (t) => {
  const stand = wasmerStand(t)
  const controller = new AbortController()
  const running = stand.run(endlessLoop, { signal: controller.signal, timeoutMs: 60_000 })
  await until(() => childrenOf().some((pid) => processorMs(pid) > 0), 'there is a process')
  const reason = new Error('left')
  controller.abort(reason)
  await t.rejects(running, reason)
  await until(() => childrenOf().length === 0, 'the process is gone', 1000)
})

t.test('a process that is killed from outside is a 503, and the next one works', async (t) => {
  const stand = wasmerStand(t)
  const running = stand.run(endlessLoop, { timeoutMs: 60_000 })
  await until(() => childrenOf().length === 1, 'there is a process')
  for (const pid of childrenOf()) process.kill(pid, 'SIGKILL')
  await t.rejects(running, { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } })
  t.equal((await stand.run(program('(nop)'))).exitCode, 0)
})

t.test('a stopping runtime ends what runs', async (t) => {
  const stand = wasmerStand(t, { processes: 2 })
  const all = [endlessLoop, endlessLoop].map((text) => stand.run(text, { timeoutMs: 60_000 }))
  const ends = Promise.all(all.map((run) => t.rejects(run, { code: 'SERVICE_UNAVAILABLE' })))
  await until(() => childrenOf().length === 2, 'there are processes')
  const pids = childrenOf()
  await stand.runtime.stop()
  await ends
  t.notOk(pids.some(runs))
  await t.rejects(stand.run(program('(nop)')), { code: 'SERVICE_UNAVAILABLE' })
})

t.test('five at once are all answered, by no more processes than there may be', async (t) => {
  const ada = await (await createProgramNode(t, { processes: 2, spares: 0 }))()
  let most = 0
  const looking = setInterval(() => {
    most = Math.max(most, childrenOf().length)
  }, 20)
  const runs = Array.from({ length: 5 }, () => ada.run(program('(nop)'), {}))
  t.strictSame(new Set((await Promise.all(runs)).map(({ status }) => status)), new Set([200]))
  clearInterval(looking)
  // One that has answered may still be ending.
  t.ok(most <= 4, `there were ${most}`)
})
