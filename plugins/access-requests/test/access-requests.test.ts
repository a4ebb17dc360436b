import { setTimeout as delay } from 'node:timers/promises'
import {
  createTestNode,
  runCommand,
  setClock,
  type TestNode,
  type TestNodeOptions,
} from '@nodekeep/kernel/testing'
import { definePlugin, LoginProviders, NodekeepError } from '@nodekeep/plugin-sdk'
import { Wallet } from 'ethers'
import t, { type Test } from 'tap'
import accessRequests from '../src/index.ts'

/** A login provider whose proofs work once, each for one wallet and one origin. */
function loginPlugin() {
  const used = new Set<string>()
  return definePlugin({
    id: 'login-test',
    contributes: { logins: LoginProviders },
    setup({ logins }) {
      logins.add('test', {
        async verify({ uuid, address, token }, { origin }) {
          const isProof = token.startsWith(`proof of ${address} at ${origin.origin}, `)
          if (!isProof || used.has(token)) throw new NodekeepError('UNAUTHORIZED', 'The proof is wrong.')
          used.add(token)
          return { uuid, address }
        },
      })
    },
  })
}

/** Starts a node that admits its owner only, and who has signed in. */
async function startNode(t: Test, options: TestNodeOptions = {}) {
  const log: string[] = []
  const node = await createTestNode({
    plugins: [loginPlugin(), accessRequests],
    config: { auth: { admission: 'owner' } },
    onLog: (line) => log.push(line),
    ...options,
  })
  t.teardown(() => node.stop())
  return { node, owner: await node.signIn('owner'), log }
}

const post = (node: TestNode, path: string, body: object, headers: Readonly<Record<string, string>> = {}) =>
  node.fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

const newWallet = () => Wallet.createRandom().address

let proofs = 0
function credentialsOf(address: string, { origin }: Pick<URL, 'origin'>) {
  proofs += 1
  return { uuid: address, address, token: `proof of ${address} at ${origin}, number ${proofs}` }
}

const ask = (node: TestNode, wallet: string, username: string) =>
  post(node, '/auth/access-requests', { provider: 'test', ...credentialsOf(wallet, node.url), username })

const signIn = (node: TestNode, wallet: string) => post(node, '/auth/test', credentialsOf(wallet, node.url))

interface Listed {
  readonly requests: { wallet: string; username: string; requested: string }[]
}
type Caller = Pick<TestNode, 'fetch'>
const list = async ({ fetch }: Caller) =>
  ((await (await fetch('/api/access-requests')).json()) as Listed).requests
const namesOf = async (caller: Caller) => (await list(caller)).map(({ username }) => username)

t.test('a person asks, the owner sees the proven wallet, and admits them', async (t) => {
  const { node, owner, log } = await startNode(t)
  const papa = newWallet()
  const refused = await signIn(node, papa)
  t.equal(refused.status, 403)
  t.strictSame(await refused.json(), {
    error: true,
    message: 'This wallet may not sign in here. Ask the owner of the node.',
    code: 'FORBIDDEN',
  })
  const before = Date.now()
  t.strictSame(await (await ask(node, papa, 'papa')).json(), { success: true })
  const [request] = await list(owner)
  t.match(request, { wallet: papa, username: 'papa' })
  t.ok(Date.parse(request?.requested ?? '') >= before)

  const added = await owner.fetch('/api/users', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ wallet: papa, username: 'papa' }),
  })
  t.equal(added.status, 200)
  const removal = await owner.fetch(`/api/access-requests/${papa.toLowerCase()}`, {
    method: 'DELETE',
  })
  t.equal(removal.status, 200)
  t.strictSame(await list(owner), [])
  const answer = await signIn(node, papa)
  t.match(await answer.json(), { user: { username: 'papa', wallet: papa } })
  const events = log.map((line) => JSON.parse(line))
  const isOf = (name: string) => events.find(({ event }) => event === name)
  t.match(isOf('access-requested'), {
    ip: '127.0.0.1',
    wallet: papa,
    username: 'papa',
    provider: 'test',
  })
  t.match(isOf('access-request-removed'), { userUuid: owner.user.uuid, wallet: papa })
})

t.test('only a proven wallet asks, once, and the answer tells nothing about users', async (t) => {
  const { node, owner } = await startNode(t)
  const [papa, anna] = [newWallet(), newWallet()]
  const proof = credentialsOf(papa, node.url)
  const send = (change: object) =>
    post(node, '/auth/access-requests', { provider: 'test', ...proof, username: 'papa', ...change })
  t.equal((await send({ username: '<b>papa</b>' })).status, 400)
  t.equal((await send({ username: 'p'.repeat(31) })).status, 400)
  t.equal((await send({ provider: 'nobody' })).status, 404)
  t.equal((await send({ address: anna })).status, 401, 'the address of somebody else')
  t.strictSame(await list(owner), [])
  t.equal((await send({})).status, 200)
  t.equal((await send({})).status, 401, 'a proof works once')
  t.equal((await ask(node, papa, 'opa')).status, 200)
  t.strictSame(await namesOf(owner), ['opa'], 'the later request of the same wallet counts')

  // The wallet of a user, and the name of a user, are answered like all others.
  const known = newWallet()
  const body = JSON.stringify({ wallet: known, username: 'grace' })
  const headers = { 'content-type': 'application/json' }
  t.equal((await owner.fetch('/api/users', { method: 'POST', headers, body })).status, 200)
  for (const wallet of [known, anna]) {
    const answer = await ask(node, wallet, 'grace')
    t.strictSame([answer.status, await answer.json()], [200, { success: true }])
  }
})

t.test('people who wait are among what needs the owner', async (t) => {
  const { node, owner } = await startNode(t)
  const waiting = async () => {
    const report = (await (await owner.fetch('/api/system/health')).json()) as {
      status: string
      attention: { name: string; message: string }[]
    }
    t.equal(report.status, 'ok')
    return report.attention.filter(({ name }) => name === 'access-requests').map(({ message }) => message)
  }
  const [papa, anna] = [newWallet(), newWallet()]
  // A report is held for a second.
  const until = async (expected: string[]) => {
    while (JSON.stringify(await waiting()) !== JSON.stringify(expected)) await delay(100)
    t.strictSame(await waiting(), expected)
  }
  await until([])
  await ask(node, papa, 'papa')
  await until(['A person asks to be let in. Decide under "Users".'])
  await ask(node, anna, 'anna')
  await until(['2 people ask to be let in. Decide under "Users".'])
  for (const wallet of [papa, anna]) await owner.fetch(`/api/access-requests/${wallet}`, { method: 'DELETE' })
  await until([])
})

t.test('only the owner sees and removes requests', async (t) => {
  const { node, owner } = await startNode(t, { config: { auth: { admission: 'open' } } })
  const [papa, user] = [newWallet(), await node.signIn()]
  await ask(node, papa, 'papa')
  const path = `/api/access-requests/${papa}`
  const statuses = async (caller: Caller) => [
    (await caller.fetch('/api/access-requests')).status,
    (await caller.fetch(path, { method: 'DELETE' })).status,
  ]
  t.strictSame(await statuses(node), [401, 401])
  t.strictSame(await statuses(user), [403, 403])
  t.strictSame(await statuses(owner), [200, 200])
  t.strictSame(await statuses(owner), [200, 404])
})

t.test('requests of one address are limited', async (t) => {
  const { node } = await startNode(t)
  const foreign = { 'sec-fetch-site': 'cross-site', 'content-type': 'text/plain' }
  for (let sent = 0; sent < 11; sent += 1) {
    const answer = await node.fetch('/auth/access-requests', { method: 'POST', headers: foreign, body: '{}' })
    t.equal(answer.status, 403, 'a page of another site does not use up the limit of its visitor')
  }
  const statuses: number[] = []
  for (let sent = 0; sent < 11; sent += 1) {
    statuses.push((await ask(node, newWallet(), 'papa')).status)
  }
  t.strictSame(statuses, [...Array(10).fill(200), 429])
})

t.test('a node keeps 50 requests, for 30 days, also when it starts again', async (t) => {
  t.teardown(() => setClock(null))
  const server = { trustedProxies: ['127.0.0.1'], publicUrl: 'https://node.example.org' }
  const config = { server, auth: { admission: 'owner' } }
  const dataFolder = t.testdir({})
  const first = await startNode(t, { config, dataFolder })
  let clients = 0
  /** Asks through a proxy, as a client of its own. */
  const askFrom = async ({ node }: { node: TestNode }, wallet: string) => {
    clients += 1
    const headers = {
      'x-forwarded-for': `192.0.2.${clients}`,
      'x-forwarded-host': 'node.example.org',
      'x-forwarded-proto': 'https',
    }
    const proof = credentialsOf(wallet, { origin: server.publicUrl })
    const body = { provider: 'test', ...proof, username: `person-${clients}` }
    return (await post(node, '/auth/access-requests', body, headers)).status
  }
  const wallets = Array.from({ length: 50 }, () => newWallet())
  const asked = await Promise.all(wallets.map((wallet) => askFrom(first, wallet)))
  t.strictSame(new Set(asked), new Set([200]))
  const [papa, anna] = [newWallet(), wallets[0] ?? newWallet()]
  t.equal(await askFrom(first, papa), 429, 'a flood displaces nobody')
  t.equal(await askFrom(first, anna), 200, 'who waits may change their request')
  await first.node.stop()

  const second = await startNode(t, { config, dataFolder })
  const kept = await list(second.owner)
  t.equal(kept.length, 50)
  t.equal(kept.at(-1)?.wallet, anna, 'the newest one is last')
  setClock(new Date(Date.now() + 29 * 86_400_000))
  t.equal((await list(second.owner)).length, 50)
  setClock(new Date(Date.now() + 2 * 86_400_000))
  t.strictSame(await list(second.owner), [])
})

t.test('the command line lists, admits and refuses', async (t) => {
  const { node, owner } = await startNode(t)
  const [papa, other, anna] = [newWallet(), newWallet(), newWallet()]
  for (const wallet of [papa, other]) await ask(node, wallet, 'papa')
  await ask(node, anna, 'anna')
  const config = JSON.stringify({ plugins: { 'access-requests': true } })
  const file = `${t.testdir({ 'nodekeep.json': config })}/nodekeep.json`
  const run = (...args: string[]) =>
    runCommand(['access-requests', ...args, '--config', file, '--data', node.dataFolder], {
      cwd: import.meta.dirname,
    })
  const listed = await run('list', '--json')
  const rows = JSON.parse(listed.stdout) as { name: string; wallet: string }[]
  t.strictSame(
    rows.map(({ name, wallet }) => [name, wallet]),
    [
      ['papa', papa],
      ['papa', other],
      ['anna', anna],
    ],
  )
  const ambiguous = await run('admit', 'papa')
  t.equal(ambiguous.code, 1)
  t.match(ambiguous.stderr, '2 people ask for the name "papa". Name the wallet.')
  t.equal((await run('admit', papa)).code, 0)
  t.match((await run('admit', 'papa')).stderr, 'The username "papa" is taken.')
  t.equal((await run('admit', 'papa', '--username', 'opa')).code, 0)
  t.equal((await run('refuse', 'anna')).code, 0)
  await ask(node, papa, 'grandpa')
  t.match((await run('admit', 'grandpa', '--json')).stdout, '"name": "papa"', 'a user keeps the name')
  t.match((await run('refuse', 'anna')).stderr, 'There is no request of "anna".')
  t.match((await run('list')).stdout, 'Nobody asks for admission.')
  const { users } = (await (await owner.fetch('/api/users')).json()) as { users: { username: string }[] }
  const names = users.map(({ username }) => username)
  t.ok(names.includes('papa') && names.includes('opa') && !names.includes('anna'))
})
