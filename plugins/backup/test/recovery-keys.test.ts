import { join } from 'node:path'
import { test } from 'tap'
import { identitiesOf } from '../src/recovery-keys.ts'

test('the file with a recovery key is read, and one that cannot be read is named', async (t) => {
  const folder = t.testdir({ 'recovery.key': 'AGE-SECRET-KEY-1…' })
  t.strictSame(await identitiesOf({ options: { key: join(folder, 'recovery.key') } }), ['AGE-SECRET-KEY-1…'])
  t.strictSame(await identitiesOf({ options: {} }), [])
  for (const [name, problem] of [
    ['none', /^There is no file .*none\. Give the file with the recovery key: --key FILE$/],
    ['recovery.key/none', /^There is no file .*none\. Give the file/],
    ['.', / is a folder\. Give the file with the recovery key: --key FILE$/],
  ] as const) {
    await t.rejects(identitiesOf({ options: { key: join(folder, name) } }), { message: problem })
  }
})
