import t from 'tap'
import { childrenOf, processorMs, runs } from './fixtures/processes.ts'
import { createProgramNode } from './fixtures/program-node.ts'
import { endlessLoop, program } from './fixtures/programs.ts'
import { until } from './fixtures/until.ts'
import { createRuntime } from './fixtures/wasmer-stand.ts'

t.test('an aborted run ends at once with the reason', async (t) => {
  const fixture = createRuntime(t)
  const controller = new AbortController()
  const running = fixture.run(endlessLoop, { signal: controller.signal, timeoutMs: 60_000 })
  await until(() => childrenOf().some((pid) => processorMs(pid) > 0), 'a process runs')
  const reason = new Error('aborted')
  controller.abort(reason)
  await t.rejects(running, reason)
  await until(() => childrenOf().length === 0, 'the process has ended')
})

t.test('a run whose process is killed from outside gets a 503, and the next run works', async (t) => {
  const fixture = createRuntime(t)
  const running = fixture.run(endlessLoop, { timeoutMs: 60_000 })
  await until(() => childrenOf().length === 1, 'a process runs')
  for (const pid of childrenOf()) process.kill(pid, 'SIGKILL')
  await t.rejects(running, { code: 'SERVICE_UNAVAILABLE', headers: { 'retry-after': '1' } })
  t.equal((await fixture.run(program('(nop)'))).exitCode, 0)
})

t.test('a runtime that stops ends its runs', async (t) => {
  const fixture = createRuntime(t, { processes: 2 })
  const all = [endlessLoop, endlessLoop].map((text) => fixture.run(text, { timeoutMs: 60_000 }))
  const ends = Promise.all(all.map((run) => t.rejects(run, { code: 'SERVICE_UNAVAILABLE' })))
  await until(() => childrenOf().length === 2, 'two processes run')
  const pids = childrenOf()
  await fixture.runtime.stop()
  await ends
  t.notOk(pids.some(runs))
  await t.rejects(fixture.run(program('(nop)')), { code: 'SERVICE_UNAVAILABLE' })
})

t.test('five runs at once are all answered by the allowed number of processes', async (t) => {
  const ada = await (await createProgramNode(t, { processes: 2 }))()
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, childrenOf().length)
  }, 20)
  const runs = Array.from({ length: 5 }, () => ada.run(program('(nop)'), {}))
  t.strictSame(new Set((await Promise.all(runs)).map(({ status }) => status)), new Set([200]))
  clearInterval(timer)
  // A process that has answered may still be ending.
  t.ok(most <= 4, `at most ${most} processes existed`)
})
