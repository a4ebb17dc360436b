import {
  conflict,
  type ErrorCode,
  errorBodyOf,
  errorStatus,
  invalid,
  isNodekeepError,
  NodekeepError,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { loadSecondCopy } from './fixtures/second-copy.ts'

test('An error has its code, status, message, cause and headers', async (t) => {
  const cause = new Error('socket closed')
  const error = new NodekeepError('SERVICE_UNAVAILABLE', 'Try again in a minute.', {
    cause,
    headers: { 'retry-after': '60' },
  })
  t.ok(error instanceof Error)
  t.equal(error.name, 'NodekeepError')
  t.equal(error.message, 'Try again in a minute.')
  t.equal(error.code, 'SERVICE_UNAVAILABLE')
  t.equal(error.status, 503)
  t.equal(error.cause, cause)
  t.strictSame(error.headers, { 'retry-after': '60' })
  t.match(error.stack, 'errors.test.ts')
})

test('The codes that most plugins need have a function each', async (t) => {
  t.match(invalid('Send "name".'), {
    name: 'NodekeepError',
    code: 'VALIDATION_ERROR',
    message: 'Send "name".',
  })
  t.match(conflict('It runs already.'), {
    name: 'NodekeepError',
    code: 'CONFLICT',
    message: 'It runs already.',
  })
  t.ok(isNodekeepError(invalid('')))
})

test('An error without options has neither a cause nor headers', async (t) => {
  const error = new NodekeepError('NOT_FOUND', 'There is no such note.')
  t.notOk('cause' in error)
  t.strictSame(error.headers, {})
})

test('Every code has an error status of its own', async (t) => {
  for (const [code, status] of Object.entries(errorStatus)) {
    t.match(code, /^[A-Z]+(_[A-Z]+)*$/)
    t.ok(status >= 400 && status < 600, `${code} has the status ${status}.`)
    t.equal(new NodekeepError(code as ErrorCode, '').status, status)
  }
  t.equal(new Set(Object.values(errorStatus)).size, Object.keys(errorStatus).length)
})

test('The brand of an error is not enumerable', async (t) => {
  const error = new NodekeepError('CONFLICT', 'The name is taken.')
  t.strictSame(Object.keys(error).sort(), ['code', 'headers', 'logged', 'name', 'permanent', 'reason'])
  t.notOk(JSON.stringify(error).includes('brand'))
})

test('Only errors of this or another copy of the SDK are recognized', async (t) => {
  const other = await loadSecondCopy(t)
  const foreign = new other.NodekeepError('FORBIDDEN', 'No.')
  t.notOk(foreign instanceof NodekeepError, 'The class of the other copy is another class.')
  t.ok(isNodekeepError(foreign))
  t.ok(other.isNodekeepError(new NodekeepError('FORBIDDEN', 'No.')))

  class Refined extends NodekeepError {}
  t.ok(other.isNodekeepError(new Refined('FORBIDDEN', 'No.')))

  const lookalike = Object.assign(new Error('No.'), { code: 'FORBIDDEN', status: 403, headers: {} })
  for (const value of [
    lookalike,
    new Error('No.'),
    { code: 'FORBIDDEN' },
    'FORBIDDEN',
    403,
    null,
    undefined,
  ]) {
    t.notOk(isNodekeepError(value))
  }
})

test('The error body of a thrown value hides internal errors', async (t) => {
  const known = new NodekeepError('CONFLICT', 'Not twice.', { cause: new Error('row 7') })
  t.strictSame(errorBodyOf(known, 'r1'), { error: true, message: 'Not twice.', code: 'CONFLICT' })
  for (const thrown of [new Error('/etc/secret'), 'secret', null, { code: 'CONFLICT', message: 'secret' }]) {
    const body = errorBodyOf(thrown, 'r1')
    t.equal(body.code, 'INTERNAL_ERROR')
    t.match(body.message, 'r1')
    t.notMatch(body.message, 'secret')
  }
})
