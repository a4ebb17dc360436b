import { ByteSize, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { load, problemsOf, reference } from './sources.ts'

const schema = Type.Object({
  limit: ByteSize({ default: 5, maximum: 9e15 }),
  name: Type.String({ default: '' }),
})

test('a number of bytes may have a unit, wherever it is written', async (t) => {
  const sizes = {
    '8GB': 8e9,
    '1.5 MiB': 1.5 * 2 ** 20,
    '10kb': 10_000,
    '3TiB': 3 * 2 ** 40,
    '7B': 7,
  }
  for (const [text, bytes] of Object.entries(sizes)) {
    const sources = [
      { inline: { storage: { limit: text } } },
      { inline: { storage: { limit: reference('LIMIT') } }, environment: { LIMIT: text } },
      { environment: { NODEKEEP_STORAGE__LIMIT: text }, inline: { plugins: { storage: true } } },
      { flags: { storage: { limit: text } } },
    ]
    for (const source of sources) {
      const section = (await load(t.testdir(), source)).section('storage', schema)
      t.strictSame(section, { limit: bytes, name: '' }, text)
    }
  }
  const named = await load(t.testdir(), { inline: { storage: { name: '8GB', limit: 12 } } })
  t.strictSame(named.section('storage', schema), { limit: 12, name: '8GB' }, 'other texts stay as they are')
})

test('a size that is none is refused with an example', async (t) => {
  for (const text of ['8G', '8XB', 'GB', '-1GB', '1e3MB', '']) {
    const configuration = await load(t.testdir(), { inline: { storage: { limit: text } } })
    const [problem] = await problemsOf(() => configuration.section('storage', schema))
    t.match(
      problem,
      /storage\.limit .*Write the number of bytes, or a size such as "8GB" or "512MiB"\./,
      text,
    )
  }
  const large = await load(t.testdir(), { inline: { storage: { limit: '9999TB' } } })
  t.match(await problemsOf(() => large.section('storage', schema)), [/must be between 1 and/])
})
