import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Fastify from 'fastify'
import { test } from 'tap'
import { createLogger, type LoggerOptions } from '../../src/log/logger.ts'
import { Secrets } from '../../src/log/secrets.ts'

function capture(options: LoggerOptions = {}) {
  const lines: string[] = []
  const secrets = new Secrets()
  const log = createLogger({ secrets, ...options, destination: { write: (line) => lines.push(line) } })
  return { log, lines, secrets, last: () => JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> }
}

const session = `nks_${'aB3-_'.repeat(9).slice(0, 43)}`

test('a line has the time, the level, the plugin and the message', async (t) => {
  const { log, lines, last } = capture()
  log.child({ plugin: 'files' }).warn({ note: 7 }, 'note stored')
  const { time, ...rest } = last()
  t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.same(rest, { level: 'warn', plugin: 'files', note: 7, msg: 'note stored' })
  t.ok(lines[0]?.endsWith('}\n'))
})

test('the logger omits lines below its level', async (t) => {
  const { log, lines } = capture({ level: 'warn' })
  log.info('no')
  log.warn('yes')
  t.equal(lines.length, 1)
  const { log: silent, lines: none } = capture({ level: 'silent' })
  silent.fatal('no')
  t.equal(none.length, 0)
})

test('the logger writes an error with its causes', async (t) => {
  const { log, last } = capture()
  const error = new Error('outer', { cause: new Error('middle', { cause: new TypeError('inner') }) })
  log.error({ err: error }, 'it failed')
  const { err } = last() as { err: { message: string; stack: string } }
  t.equal(err.message, 'outer: middle: inner')
  t.match(err.stack, /Error: outer[\s\S]*caused by: Error: middle[\s\S]*caused by: TypeError: inner/)
  log.error(error)
  t.match(last(), { msg: 'outer', err: { message: 'outer: middle: inner' } })
})

test('the pretty format is text and has errors over several lines', async (t) => {
  const { log, lines } = capture({ format: 'pretty' })
  log.child({ plugin: 'files' }).info({ note: 7, password: 'hunter22' }, 'note stored')
  t.match(lines[0], /^\[\d\d:\d\d:\d\d\] INFO: \[files\] note stored \{"note":7,"password":"\[secret\]"\}\n$/)
  log.error({ err: new Error(`bad ${session}`) }, 'it failed')
  t.match(lines[1], /ERROR: it failed *\n *err: \{[\s\S]*\n *Error: bad \[secret\]\n *at /)
})

test('no part of a line contains a secret', async (t) => {
  const { log, lines, secrets } = capture({ level: 'trace' })
  const value = 'pass "word" with \\ and\nline, ünïcode & 100% /slash'
  secrets.add(value)
  secrets.add('ABCD-EFGH-JKLM')
  const cause = new Error(`cause ${value}`)
  const error = Object.assign(new Error(`failed with ${value}`, { cause }), { body: { value } })
  const child = log.child({ bound: value })

  log.info(value)
  log.info('formatted %s and %j', value, { value })
  log.info({ [value]: 1 }, 'a key')
  log.info({ deep: { er: [value, { value }] } }, 'nested')
  log.info({ text: JSON.stringify({ value }) }, 'JSON within JSON')
  log.info({ url: `/x?q=${encodeURIComponent(value)}` }, 'a URL')
  log.info({ form: new URLSearchParams({ value }).toString() }, 'a form')
  log.error({ err: error }, 'an error')
  log.error(error)
  child.debug('bound')
  log.warn('open http://127.0.0.1:4200/#claim=ABCD-EFGH-JKLM')
  log.warn({ token: session }, `token ${session}`)
  log.warn({ url: `/read?x=${session}`, err: new Error(session) })
  log.warn(`nkt_${'x'.repeat(43)} and the beginning of one: ${session.slice(0, 25)}`)

  const whole = lines.join('')
  for (const part of ['word', 'slash', 'ABCD', 'aB3', 'xxxxx']) t.notOk(whole.includes(part), part)
  for (const line of lines) {
    t.doesNotThrow(() => JSON.parse(line))
    t.match(line, '[secret]')
  }
  t.equal(JSON.parse(lines[1] ?? '').msg, 'formatted [secret] and {"value":"[secret]"}')
})

test('the logger replaces fields with secret names at any depth', async (t) => {
  const { log, lines, last } = capture()
  const headers = {
    authorization: 'Basic dXNlcjpodW50ZXIy',
    cookie: 'session=hunter2; theme=dark',
    'set-cookie': ['session=hunter2; Path=/', 'a="hunter2]"'],
    'x-api-key': 'hunter2',
    accept: '*/*',
  }
  log.info({ req: { headers } })
  t.same((last().req as { headers: object }).headers, {
    authorization: '[secret]',
    cookie: '[secret]',
    'set-cookie': '[secret]',
    'x-api-key': '[secret]',
    accept: '*/*',
  })
  const fields = [
    'token',
    'sessionToken',
    'accessToken',
    'claim',
    'apiKey',
    'api_key',
    'password',
    'clientSecret',
    'Authorization',
    'Cookie',
  ]
  for (const field of fields) {
    log.info({ [field]: 'hunter2' })
    t.equal(last()[field], '[secret]', field)
    log.info({ a: { b: { c: [{ [field]: 'hun"ter2' }] } }, kept: 1 })
    t.same(last().a, { b: { c: [{ [field]: '[secret]' }] } }, field)
    t.equal(last().kept, 1)
  }
  log.info({ password: 12345678, claim: null, token: '', tokens: 3, cookieCount: 1 })
  t.match(last(), { password: '[secret]', claim: null, token: '[secret]', tokens: 3, cookieCount: 1 })
  log.info(`Unexpected end of input in ${JSON.stringify({ password: 'hun"ter\\2', a: 1 })}`)
  t.equal(last().msg, 'Unexpected end of input in {"password":"[secret]","a":1}')
  log.info({
    url: '/ws?token=hunter2&x=1',
    rpc: 'https://user:hunter2@rpc.example/v1',
    text: 'bearer hunter2hunter2',
  })
  t.match(last(), {
    url: '/ws?token=[secret]&x=1',
    rpc: 'https://[secret]@rpc.example/v1',
    text: 'bearer [secret]',
  })
  t.notMatch(lines.join(''), /hun.{0,3}ter/)
})

test('a server logs requests without their secrets', async (t) => {
  const { log, lines } = capture()
  const app = Fastify({ loggerInstance: log })
  app.get('/', async (request) => {
    request.log.info({ headers: request.headers, raw: request.raw.rawHeaders }, 'seen')
    throw new Error(`no use for ${request.headers.authorization}`)
  })
  await app.inject({
    url: `/?token=${session}`,
    headers: { authorization: `Bearer ${session}`, cookie: `session=${session}` },
  })
  await app.close()
  t.ok(lines.length >= 4)
  t.notMatch(lines.join(''), session.slice(4))
  t.match(JSON.parse(lines[0] ?? ''), { reqId: /./, req: { url: '/?token=[secret]' } })
})

test('an output that is not a terminal gets JSON lines, and the end of the process loses no line', async (t) => {
  const run = async (format: string) => {
    const program = join(import.meta.dirname, 'fixtures/logging.ts')
    const options = { maxBuffer: 1e7 }
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--conditions=nodekeep-source', program, format],
      options,
    )
    return stdout.trimEnd().split('\n')
  }
  const json = await run('auto')
  t.equal(json.length, 1000)
  t.match(JSON.parse(json.at(-1) ?? ''), { msg: 'the end', pretty: false }, 'JSON needs no pretty printer')
  const text = await run('pretty')
  t.equal(text.length, 1000)
  t.match(text.at(-1), /INFO: the end \{"pretty":true\}$/)
})
