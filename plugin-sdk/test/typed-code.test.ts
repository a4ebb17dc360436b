import { newTypedCode, readTypedCode } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('a code is read as people type it', async (t) => {
  t.equal(readTypedCode('AS0F-008T-HPW7'), 'AS0F008THPW7')
  t.equal(readTypedCode(' aSof ooBt\thpw7 '), 'AS0F00BTHPW7')
  t.equal(readTypedCode('il1L'), '1111')
  t.equal(readTypedCode('x'.repeat(5000)).length, 100)
})

test('no two codes are the same, and each survives its reading', async (t) => {
  const codes = Array.from({ length: 100 }, newTypedCode)
  t.equal(new Set(codes).size, 100)
  for (const code of codes) {
    t.match(code, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/)
    t.equal(readTypedCode(code.toLowerCase()), code.replaceAll('-', ''))
  }
})
