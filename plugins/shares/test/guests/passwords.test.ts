import t from 'tap'
import { Passwords } from '../../src/guests/passwords.ts'
import type { Share } from '../../src/share.ts'

t.test('after ten wrong passwords of an address, others can still enter', async (t) => {
  const passwords = new Passwords()
  const share = { id: 'a', password: await passwords.hashOf('right') } as Share
  // Many at the same time are no way around the limit.
  const tried = await Promise.allSettled(
    Array.from({ length: 14 }, (_, at) => passwords.isRight(share, '203.0.113.1', `wrong ${at}`)),
  )
  t.equal(tried.filter(({ status }) => status === 'fulfilled').length, 10)
  for (let refused = 0; refused < 200; refused += 1)
    await t.rejects(passwords.isRight(share, '203.0.113.1', 'right'), { code: 'TOO_MANY_REQUESTS' })
  t.equal(await passwords.isRight(share, '203.0.113.2', 'right'), true)
  t.equal(await passwords.isRight({ ...share, id: 'b' }, '203.0.113.1', 'right'), true, 'another link')
})
