import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'tap'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'
import { withState } from '../fixtures/state-file.ts'

const ada = wallet(1)

test('the node stores each login of a user once, with its first and last time', async (t) => {
  const { node, openSession } = await startLoginNode(t)
  const logins = () =>
    withState(node.dataFolder, (database) => database.prepare('SELECT * FROM logins ORDER BY first_at').all())
  const { user } = await openSession(ada)
  const [first] = logins()
  t.match(first, { provider: 'test', provider_uuid: `id-${ada}`, user_uuid: user.uuid })
  await openSession(ada)
  const [again, ...others] = logins()
  t.same(others, [])
  t.equal(again?.first_at, first?.first_at)
  t.ok(Number(again?.last_at) >= Number(first?.last_at))
  await openSession(ada, { uuid: 'another' })
  t.equal(logins().length, 2)
})

test('a sign-in that cannot be stored leaves no user and no login', async (t) => {
  const { node, signIn } = await startLoginNode(t)
  const execute = (statement: string) => withState(node.dataFolder, (database) => database.exec(statement))
  const count = (table: string) =>
    withState(node.dataFolder, (database) => database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n)
  execute("CREATE TRIGGER broken BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'broken'); END")
  const before = count('users')
  t.equal((await signIn(ada)).status, 500)
  t.same([count('users'), count('logins'), count('sessions')], [before, 0, 0])
  execute('DROP TRIGGER broken')
  t.equal((await signIn(ada)).status, 200)
})

test('a refused user gets the refusal even while another program writes', async (t) => {
  const { node, signIn } = await startLoginNode(t, { config: { auth: { admission: 'owner' } } })
  const other = new DatabaseSync(join(node.dataFolder, 'state.sqlite'))
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  t.equal((await signIn(ada)).status, 403)
})
