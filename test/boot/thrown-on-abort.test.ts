import { type Test, test } from 'tap'
import { fromFixtures, listPlugins, type NodeProcess, signInOwner, startNodeProcess } from './node-process.ts'

const wallet = '0x1111111111111111111111111111111111111111'

async function start(t: Test, auth: Readonly<Record<string, unknown>>) {
  const node = await startNodeProcess({
    plugins: fromFixtures(['throws-on-abort', 'healthy', 'trusting-login'], false),
    // The other checks must be in time, also on a busy machine.
    health: { timeoutMs: 2000 },
    auth: { owner: wallet, ...auth },
  })
  t.teardown(() => node.remove())
  return { node, url: await node.ready }
}

const hasError = (where: string) => (line: Record<string, unknown>) =>
  JSON.stringify(line.err ?? '').includes(`broke ${where}`)

function signInSlowly(url: URL, signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify({ uuid: 'x', address: wallet, token: 'x' })
  const headers = { 'content-type': 'application/json' }
  return fetch(new URL('/auth/slow', url), { method: 'POST', headers, body, ...(signal && { signal }) })
}

async function checkServes(t: Test, node: NodeProcess, url: URL): Promise<void> {
  const plugins = await listPlugins(await signInOwner(url))
  t.match(plugins.get('throws-on-abort'), { state: 'degraded', reason: /broke in a slow/ })
  t.same(await (await fetch(new URL('/healthy', url))).json(), { well: true }, 'the node serves')
  t.equal(node.child.exitCode, null, 'the process lives')
}

test('an error on the abort at a time limit is a fault of the plugin', async (t) => {
  const { node, url } = await start(t, { signInTimeoutMs: 50 })
  t.equal((await fetch(new URL('/health', url))).status, 200)
  await node.logged(hasError('in a slow check'))
  t.equal((await signInSlowly(url)).status, 504)
  await node.logged(hasError('in a slow sign-in'))
  await checkServes(t, node, url)
  t.same(
    node.log().filter(hasError('after a sound check')),
    [],
    'the end of a check does not abort its signal',
  )
})

test('an error on the abort after the client disconnected is a fault of the plugin', async (t) => {
  const { node, url } = await start(t, {})
  const abort = new AbortController()
  const gone = signInSlowly(url, abort.signal)
  await node.logged(({ msg }) => msg === 'A slow sign-in began.')
  abort.abort()
  await t.rejects(gone)
  await node.logged(hasError('in a slow sign-in'))
  await checkServes(t, node, url)
})
