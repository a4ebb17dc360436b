import fc from 'fast-check'
import { test } from 'tap'
import { createLogger } from '../../src/log/logger.ts'
import { minSecretLength, Secrets } from '../../src/log/secrets.ts'

test('the scrubber ignores short values', async (t) => {
  const secrets = new Secrets()
  secrets.add('')
  secrets.add('x'.repeat(minSecretLength - 1))
  t.equal(secrets.scrub('xxxxx and some text'), 'xxxxx and some text')
  secrets.add('x'.repeat(minSecretLength))
  t.equal(secrets.scrub('xxxxxx and xxxxx'), '[secret] and xxxxx')
})

test('the scrubber replaces a secret that contains another as a whole', async (t) => {
  const secrets = new Secrets()
  secrets.add('secret-1')
  secrets.add('my secret-1 of two')
  t.equal(secrets.scrub('(my secret-1 of two) (secret-1)'), '([secret]) ([secret])')
})

test('the scrubber takes special characters of regular expressions literally', async (t) => {
  const secrets = new Secrets()
  secrets.add('.*+?^$()|[]{}\\/-')
  secrets.add('[a-z]+')
  t.equal(secrets.scrub('abc .*+?^$()|[]{}\\/- abc [a-z]+'), 'abc [secret] abc [secret]')
})

test('a line without its secrets is valid JSON', async (t) => {
  const lines: string[] = []
  // Letters and digits alone could be a part of a field's name.
  const secret = fc.string({ unit: 'binary', minLength: 5, maxLength: 30 }).map((text) => `§${text}`)
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (value, before, after) => {
      const secrets = new Secrets()
      secrets.add(value)
      const log = createLogger({ secrets, destination: { write: (line) => lines.push(line) } })
      const text = `${before}${value}${after}`
      log.info({ text, inner: JSON.stringify({ text }), list: [{ text }], err: new Error(text) }, text)
      const line = lines.pop() ?? ''
      const parsed = JSON.parse(line) as { text: string; inner: string }
      return ![line, parsed.text, parsed.inner, JSON.stringify(parsed)].some((part) => part.includes(value))
    }),
    { numRuns: 300 },
  )
  t.pass()
})

test('the scrubber does not change ordinary lines', async (t) => {
  const secrets = new Secrets()
  secrets.add('a-secret-value')
  const lines = [
    '{"level":"info","req":{"method":"GET","url":"/api/files/stat?path=/token/a&b=1"},"msg":"request completed"}',
    '{"msg":"listening on http://127.0.0.1:4200","nks_":"nks_short"}',
    '{"tokenCount":3,"cookies":"none","unclaimed":true,"msg":"mail me@example.org about passwords: 3"}',
    '{"auth":"required","claim":null,"session":{"expiryDays":30}}',
  ]
  for (const line of lines) t.equal(secrets.scrub(line), line)
})
