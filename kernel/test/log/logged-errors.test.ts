import { test } from 'tap'
import { createLogger } from '../../src/log/logger.ts'
import { oddities } from './fixtures/oddities.ts'

test('the logger writes every thrown value', async (t) => {
  const lines: string[] = []
  const log = createLogger({ destination: { write: (line) => lines.push(line) } })
  for (const [name, thrown] of Object.entries(oddities())) {
    log.error({ err: thrown, name }, 'it failed')
    t.match(JSON.parse(lines.at(-1) ?? ''), { level: 'error', name, msg: 'it failed' }, name)
  }
})

test('the logger writes a frozen error with its causes and does not change it', async (t) => {
  const lines: string[] = []
  const log = createLogger({ destination: { write: (line) => lines.push(line) } })
  const cause = Object.freeze(new TypeError('inner'))
  const error = Object.freeze(new Error('outer', { cause }))
  log.error({ err: error }, 'it failed')
  const { err } = JSON.parse(lines[0] ?? '') as { err: { message: string; stack: string } }
  t.equal(err.message, 'outer')
  t.match(err.stack, /Error: outer\n[\s\S]*caused by: TypeError: inner\n/)
})
