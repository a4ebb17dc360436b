import { type ErrorCode, errorStatus, NodekeepError } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { errorBody, publicError, toPublicError } from '../../src/errors/public-error.ts'

const codes = Object.keys(errorStatus) as ErrorCode[]

test('every documented code has its status, from this and another copy of the SDK', async (t) => {
  for (const code of codes) {
    const thrown = new NodekeepError(code, 'A sentence.', { headers: { 'x-a': 'b' } })
    const { status, message, headers, internal } = toPublicError(thrown, 'id')
    t.same([status, message, headers], [errorStatus[code], 'A sentence.', { 'x-a': 'b' }], code)
    t.equal(internal, errorStatus[code] >= 500, `${code}: the log hears of what is the node's fault`)
    t.equal(
      errorBody(publicError(code, 'A sentence.')),
      `{"error":true,"message":"A sentence.","code":"${code}"}`,
    )
  }
  const statuses = Object.values(errorStatus)
  t.equal(new Set(statuses).size, statuses.length, 'no status has two codes')
})

test('the brand identifies errors of another copy of the SDK', async (t) => {
  const foreign = Object.assign(new Error('There is no such note.'), { code: 'NOT_FOUND', headers: {} })
  Object.defineProperty(foreign, Symbol.for('nodekeep.error@1'), { value: true })
  t.match(toPublicError(foreign, 'id'), { code: 'NOT_FOUND', message: 'There is no such note.', status: 404 })
  for (const code of ['A_LATER_CODE', 'constructor', '__proto__', undefined]) {
    const later = Object.assign(new NodekeepError('CONFLICT', 'Something.'), { code })
    t.match(toPublicError(later, 'id'), { code: 'INTERNAL_ERROR', status: 500 }, String(code))
  }
})

test('client errors of libraries keep their status', async (t) => {
  const library = (statusCode: number) => Object.assign(new Error('Not so.'), { statusCode, expose: true })
  for (const code of codes.filter((name) => errorStatus[name] < 500)) {
    t.match(toPublicError(library(errorStatus[code]), 'id'), { code, message: 'Not so.' }, code)
  }
  for (const status of [400, 402, 418, 451]) {
    t.match(toPublicError(library(status), 'id'), { code: 'VALIDATION_ERROR', status: 400 }, `${status}`)
  }
  const fastify = Object.assign(new Error('Not so.'), { statusCode: 415, code: 'FST_ERR_OTHER' })
  t.match(toPublicError(fastify, 'id'), { code: 'UNSUPPORTED_MEDIA_TYPE', message: 'Not so.' })
})

test('every other thrown value stays hidden', async (t) => {
  const system = Object.assign(new Error('ENOENT: /root/secret'), { code: 'ENOENT', errno: -2 })
  const library = Object.assign(new Error('secret'), { statusCode: 503 })
  const odd = { statusCode: '404', message: 'secret', expose: true }
  const client = Object.assign(new Error('no such container at http://10.0.0.5, secret'), { statusCode: 404 })
  const hidden = Object.assign(new Error('secret'), { statusCode: 404, expose: false, code: 'NOT_FOUND' })
  for (const thrown of [
    system,
    library,
    odd,
    client,
    hidden,
    'secret',
    null,
    undefined,
    7,
    Symbol('secret'),
    new TypeError('secret'),
  ]) {
    const error = toPublicError(thrown, 'abc-1')
    t.match(error, { code: 'INTERNAL_ERROR', status: 500, internal: true })
    t.notMatch(error.message, 'secret')
    t.match(error.message, 'abc-1', 'the request id leads to the log')
  }
})

test('a value whose properties throw is an internal error', async (t) => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const status = Object.defineProperty(new Error('hidden'), 'statusCode', {
    get() {
      throw new Error('hidden, too')
    },
  })
  for (const thrown of [proxy, status]) {
    t.match(toPublicError(thrown, 'id'), {
      code: 'INTERNAL_ERROR',
      status: 500,
      message: /the request id id\./,
    })
  }
})
