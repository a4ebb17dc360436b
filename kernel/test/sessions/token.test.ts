import { test } from 'tap'
import { createToken, isTokenForm } from '../../src/sessions/token.ts'

test('tokens are unique and have the documented format', async (t) => {
  const tokens = Array.from({ length: 1000 }, () => createToken('session'))
  t.equal(new Set(tokens).size, 1000)
  t.ok(tokens.every(isTokenForm))
  t.match(createToken('api-token'), /^nkt_/)
  for (const text of [
    '',
    'nks_',
    `nkx_${'a'.repeat(43)}`,
    `nks_${'a'.repeat(44)}`,
    `nks_${'a'.repeat(43)}\n`,
  ])
    t.notOk(isTokenForm(text))
})
