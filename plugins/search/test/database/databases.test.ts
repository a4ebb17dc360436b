import { test } from 'tap'
import { Databases } from '../../src/database/databases.ts'
import { beginning } from '../../src/database/user-index.ts'

test('users take turns, so that one with many searches delays only itself', async (t) => {
  const databases = new Databases({ folder: t.testdir(), maxFileSize: 1000 }, { warn: () => {} })
  t.teardown(() => databases.close())
  const order: string[] = []
  const search = async (user: string) => {
    await databases.call(user, 'names', ['a'], { kind: null, after: beginning, limit: 10 })
    order.push(user)
  }
  const searches = [...Array.from({ length: 10 }, () => search('ada')), search('bob')]
  await Promise.all(searches)
  t.equal(order.length, 11)
  t.ok(order.indexOf('bob') <= 2, order.join(' '))
})

test('calls that wait fail when the databases close', async (t) => {
  const databases = new Databases({ folder: t.testdir(), maxFileSize: 1000 }, { warn: () => {} })
  const calls = Array.from({ length: 5 }, () => databases.call('ada', 'countWaiting'))
  const outcomes = Promise.allSettled(calls)
  await calls[0]
  await databases.close()
  const [first, ...others] = await outcomes
  t.equal(first?.status, 'fulfilled')
  for (const one of others)
    if (one.status === 'rejected') t.match(one.reason, { code: 'SERVICE_UNAVAILABLE' })
  await t.rejects(databases.call('ada', 'countWaiting'), { code: 'SERVICE_UNAVAILABLE' })
})
