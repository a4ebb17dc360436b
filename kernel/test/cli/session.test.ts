import { test } from 'tap'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'
import { changeState } from '../fixtures/state-file.ts'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'

const [ada, bob] = [wallet(1), wallet(2)]
const dayMs = 86_400_000

/** Returns the text of a refusal. */
const refusal = (text: string | RegExp) => ({ code: 1, stdout: '', stderr: text })

test('session create claims a running node for a wallet, and the session works at once', async (t) => {
  const folder = await commandFolder(t)
  const { node, as } = await startLoginNode(t, { unclaimed: true, dataFolder: folder.data })
  const nobody = await folder.runProcess('session', 'create')
  t.match(nobody, refusal(/has no owner yet.*--wallet.*"auth\.owner".*claim code/))
  t.ok(isRefusal(nobody))

  const { code, stdout, stderr } = await folder.runProcess('session', 'create', '--wallet', ada.toLowerCase())
  t.equal(code, 0)
  t.match(stdout, /^nks_[\w-]{43}\n$/, 'only the token is printed, for use in scripts')
  t.match(stderr, /Authorization: Bearer <token>/)
  t.notMatch(stderr, stdout.trim())
  const response = await as(stdout.trim(), '/api/users')
  t.equal(response.status, 200, 'the session belongs to the owner')
  t.match(await (await as(stdout.trim(), '/whoami')).json(), { user: { wallet: ada, authenticated: true } })
  t.equal((await node.accounts.owner())?.wallet, ada)

  const again = await folder.run('session', 'create')
  t.equal(again.code, 0, 'the wallet is optional once the node has an owner')
  t.not(again.stdout, stdout)
  t.equal((await as(again.stdout.trim(), '/api/users')).status, 200)
  const other = await folder.run('session', 'create', '--wallet', bob)
  t.match(other, refusal(`nodekeep: The node belongs to the wallet ${ada}, not to ${bob}.\n`))
  t.equal(await node.accounts.findByWallet(bob), null)
})

test('a configured owner does not have to claim the node', async (t) => {
  const folder = await commandFolder(t, { auth: { owner: ada } })
  const options = { dataFolder: folder.data, config: { auth: { owner: ada } } }
  const { node } = await startLoginNode(t, options)
  const other = await folder.run('session', 'create', '--wallet', bob)
  t.match(other, refusal(new RegExp(`belongs to the wallet ${ada}`)))
  t.equal((await folder.run('session', 'create')).code, 0, 'the owner has never signed in')
  const user = await node.accounts.owner()
  t.equal(user?.wallet, ada)
  t.equal((await node.sessions.listByUser(user?.uuid ?? '')).length, 1)
})

test('session create makes a session for another user with a number of days', async (t) => {
  const folder = await commandFolder(t, { auth: { admission: 'open' } })
  const { node, as, openSession } = await startLoginNode(t, { dataFolder: folder.data })
  const { user } = await openSession(ada)
  const { code, stdout } = await folder.run('session', 'create', '--user', ada.toLowerCase(), '--days', '2')
  t.equal(code, 0)
  t.match(await (await as(stdout.trim(), '/whoami')).json(), { user: { uuid: user.uuid } })
  const newest = (await node.sessions.listByUser(user.uuid)).find(({ label }) => label !== 'node')
  t.equal(newest?.label, 'nodekeep session create')
  t.equal((newest?.expiresAt?.getTime() ?? 0) - (newest?.createdAt.getTime() ?? 0), 2 * dayMs)
  const create = (...args: string[]) => folder.run('session', 'create', ...args)
  const [days, nobody, both] = await Promise.all([
    create('--user', ada, '--days', '3651'),
    create('--user', 'nobody'),
    create('--user', ada, '--wallet', ada),
  ])
  t.match(days, refusal(/Days are a number from 1 to 3650/))
  t.match(nobody, refusal(/^nodekeep: There is no user "nobody"/))
  t.match(both, refusal(/cannot be used with/))

  const json = await create('--user', ada, '--days', '2', '--json')
  t.match(json, { code: 0, stderr: '' })
  const { token, username, details } = JSON.parse(json.stdout)
  t.equal(username, user.username)
  t.match(await (await as(token, '/whoami')).json(), { user: { uuid: user.uuid } })
  const listed = JSON.parse((await folder.run('session', 'list', '--user', ada, '--json')).stdout)
  const own = listed.find(({ id }: { id: string }) => id === details.id)
  t.same({ ...own, lastUsed: details.lastUsed }, details, 'the details have the form of the list')
})

test('session create refuses a user who may not sign in', async (t) => {
  const folder = await commandFolder(t, { auth: { admission: 'allowlist', allowlist: [ada] } })
  const { node, openSession } = await startLoginNode(t, { dataFolder: folder.data })
  const [adas, bobs] = [await openSession(ada), await openSession(bob)]
  const excluded = await folder.run('session', 'create', '--user', bob)
  t.match(excluded, refusal(/"auth\.admission" of the configuration does not admit it/))
  t.ok(isRefusal(excluded))
  changeState(folder.data, 'UPDATE users SET disabled_at = 1 WHERE wallet = ?', ada)
  const disabled = await folder.run('session', 'create', '--user', ada)
  t.match(disabled, refusal(/is disabled\. "nodekeep user enable 0x[0-9a-f]{8}"/))
  t.equal((await node.sessions.listByUser(adas.user.uuid)).length, 1)
  t.equal((await node.sessions.listByUser(bobs.user.uuid)).length, 1)
})

test('each mistake gets one line', async (t) => {
  const folder = await commandFolder(t)
  await startLoginNode(t, { dataFolder: folder.data })
  const address = await folder.run('session', 'create', '--wallet', ada.slice(0, -1))
  t.match(address, refusal(/^nodekeep: "0x[^"]*" is not a wallet address\. [^\n]+\n$/))
  const missing = await folder.run('session', 'create', '--config', 'nowhere.json')
  t.ok(isRefusal(missing), missing.stderr)
  await folder.configure({ auth: { admision: 'open' } })
  const misspelt = await folder.run('session', 'create')
  t.match(misspelt, refusal(/auth\.admision/))
})

test('session list shows the sessions of a user, and session revoke ends one', async (t) => {
  const folder = await commandFolder(t)
  const { as, openSession } = await startLoginNode(t, {
    dataFolder: folder.data,
    config: { auth: { owner: ada } },
  })
  const { user } = await openSession(ada)
  const made = await folder.run('session', 'create', '--wallet', ada)
  const token = made.stdout.trim()
  const listed = JSON.parse((await folder.run('session', 'list', '--json')).stdout)
  t.match(listed, [{ label: 'nodekeep session create' }, { label: 'node' }])
  const { id } = listed[0]
  const { stdout } = await folder.run('session', 'list', '--user', user.username)
  const [headings, ...rows] = stdout.trimEnd().split('\n')
  t.match(headings, /^ID +PROGRAM +CREATED +LAST USED +EXPIRES$/)
  t.equal(rows.length, 2)
  t.match(rows[0], new RegExp(`^${id}  nodekeep session create  `))
  t.notMatch(stdout, token)

  t.match(await folder.run('session', 'revoke', id), { code: 0, stdout: /revoked.*within 5 seconds/ })
  t.equal(JSON.parse((await folder.run('session', 'list', '--json')).stdout).length, 1)
  const again = await folder.run('session', 'revoke', id)
  t.ok(isRefusal(again))
  t.match(again.stderr, `${user.username} has no session with the id "${id}". "nodekeep session list --user`)
  for (let status = 200; status !== 401; ) status = (await as(token, '/api/users')).status
})
