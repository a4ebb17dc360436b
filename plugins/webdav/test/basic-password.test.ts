import { test } from 'tap'
import { basicPassword } from '../src/basic-password.ts'

const basic = (text: string) => ({
  headers: { authorization: `Basic ${Buffer.from(text).toString('base64')}` },
})

test('the password is all after the first colon, whatever the user name is', async (t) => {
  t.equal(basicPassword(basic('ada:secret')), 'secret')
  t.equal(basicPassword(basic(':secret')), 'secret')
  t.equal(basicPassword(basic('ada:se:cr:et')), 'se:cr:et')
  t.equal(basicPassword(basic('ädä:gehéim')), 'gehéim')
  t.equal(basicPassword(basic('ada:')), '')
})

test('another header has no password', async (t) => {
  t.equal(basicPassword({ headers: {} }), null)
  for (const authorization of ['Bearer abc', 'Basic', 'Basic ', 'Basic %%%', 'Digest username="ada"'])
    t.equal(basicPassword({ headers: { authorization } }), null, authorization)
  t.equal(basicPassword(basic('no colon')), null)
})
