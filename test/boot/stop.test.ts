import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setImmediate, setInterval } from 'node:timers/promises'
import t, { type Test, test } from 'tap'
import { fixtures } from '../loader/failing-plugins.ts'
import { fromFixtures, signInOwner, startNodeProcess } from './node-process.ts'

// Two tests run at a time, because they mostly wait for plugins that hang.
t.jobs = 2

async function start(t: Test, server: Record<string, unknown> = {}) {
  const from = join(fixtures, 'stopping')
  const plugins = {
    ...fromFixtures(
      ['trusting-login', 'throws-in-stop', 'throws-frozen-in-stop', 'hangs-in-stop', 'hangs-in-close'],
      true,
    ),
    first: { from },
    second: { from },
  }
  const node = await startNodeProcess({ plugins, server })
  t.teardown(() => node.remove())
  const url = await node.ready
  return { node, url, owner: await signInOwner(url) }
}

test('SIGTERM lets answers finish, aborts long ones, and stops the plugins in reverse', async (t) => {
  const { node, url, owner } = await start(t)
  const slow = owner.ask('/first/slow')
  const events = await owner.ask('/second/events')
  const headers = { authorization: `Bearer ${owner.token}` }
  const socket = new WebSocket(new URL('/first/socket', url), { headers } as never)
  await Promise.all([once(socket, 'message'), node.logged(({ msg }) => msg === 'slow begins')])
  const closed = once(socket, 'close') as Promise<[CloseEvent]>

  node.child.kill('SIGTERM')
  t.match(await events.text(), /event: bye/, 'a stream ends first')
  t.match((await closed)[0], { code: 1001 }, 'a WebSocket ends first')
  await t.rejects(fetch(new URL('/health', url)), 'the node refuses new connections')
  t.equal(await (await slow).text(), 'done', 'a request finishes')

  t.match(await node.end, { code: 0, signal: null }, 'timers of plugins do not keep the process alive')
  const hooks = node.log().filter(({ msg }) => msg === 'stopping')
  t.same(
    hooks.map(({ plugin, hook }) => `${plugin} ${hook}`),
    ['second second', 'second first', 'first second', 'first first'],
  )
  const problems = node.log().filter(({ phase }) => phase === 'stop')
  t.match(problems, [
    { plugin: 'hangs-in-close', msg: 'Closing its routes took longer than 300 ms (loader.stopTimeoutMs).' },
    { plugin: 'hangs-in-stop', msg: 'Its onStop took longer than 300 ms (loader.stopTimeoutMs).' },
    { plugin: 'throws-frozen-in-stop', msg: 'the frozen onStop broke' },
    { plugin: 'throws-in-stop', msg: 'onStop broke' },
  ])
})

test('the node refuses requests that exceed the drain time', async (t) => {
  const { node, owner } = await start(t, { drainSeconds: 0.3 })
  const never = owner.ask('/first/never')
  await node.logged(({ msg }) => msg === 'never begins')
  node.child.kill('SIGINT')
  t.equal((await never).status, 503)
  t.match(await node.end, { code: 0, signal: null })
})

test('a second signal ends the node at once', async (t) => {
  const { node, url, owner } = await start(t, { drainSeconds: 3600 })
  const never = owner.ask('/first/never')
  const failed = t.rejects(never)
  await node.logged(({ msg }) => msg === 'never begins')
  node.child.kill('SIGTERM')
  await t.rejects(untilRefused(url))
  const abort = new AbortController()
  const again = killOften(node.child, abort.signal)
  t.match(await node.end, { code: 1, signal: null })
  abort.abort()
  await Promise.all([failed, again])
})

test('a signal from a service manager and its copy from npm count as one', async (t) => {
  const sendOften = async (signal: 'SIGTERM' | 'SIGHUP') => {
    const { node, owner } = await start(t)
    const slow = owner.ask('/first/slow')
    await node.logged(({ msg }) => msg === 'slow begins')
    for (let times = 0; times < 5; times++) {
      node.child.kill(signal)
      await setImmediate()
    }
    t.equal(await (await slow).text(), 'done', signal)
    t.match(await node.end, { code: 0, signal: null })
  }
  await Promise.all([sendOften('SIGTERM'), sendOften('SIGHUP')])
})

test('a signal ends a start that hangs', async (t) => {
  const loader = { setupTimeoutMs: 3_600_000 }
  const plugins = fromFixtures(['healthy', 'hangs-in-setup'], true)
  const node = await startNodeProcess({ plugins, loader })
  t.teardown(() => node.remove())
  await node.logged(({ msg }) => msg === 'hanging')
  node.child.kill('SIGTERM')
  t.match(await node.end, { code: 0, signal: null, stderr: '' })
})

/** Rejects when the node refuses new connections. */
async function untilRefused(url: URL): Promise<never> {
  for (;;) await (await fetch(new URL('/health', url), { headers: { connection: 'close' } })).text()
}

/** Sends SIGTERM every 50 ms, like an impatient person. */
async function killOften(child: ChildProcess, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of setInterval(50, undefined, { signal })) child.kill('SIGTERM')
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
