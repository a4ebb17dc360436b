import { Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createAjv, type SchemaError } from '../../src/validation/ajv.ts'
import { describeProblems } from '../../src/validation/schema-problems.ts'

const schema = Type.Object(
  {
    count: Type.Integer({ minimum: 1, maximum: 9 }),
    name: Type.Optional(Type.String({ minLength: 2, maxLength: 4 })),
    owner: Type.Optional(Type.String({ format: 'wallet-address' })),
    day: Type.Optional(Type.String({ format: 'date' })),
    kind: Type.Optional(Type.Enum(['file', 'folder'])),
    tags: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 2 })),
    'a/b': Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
    size: Type.Optional(Type.Union([Type.Literal('small'), Type.Object({ bytes: Type.Integer() })])),
  },
  { additionalProperties: false },
)

function problemsOf(value: unknown): string[] {
  const check = createAjv({ allErrors: true, addUsedSchema: false }).compile(schema)
  check(value)
  return describeProblems((check.errors ?? []) as SchemaError[]).map(
    ({ path, text }) => `${path.join('.')} ${text}`,
  )
}

test('every problem is a sentence about its key', async (t) => {
  t.strictSame(problemsOf([]), [' must be an object, but is an array.'])
  t.strictSame(problemsOf({ cuont: 1 }), [
    'count is missing.',
    'cuont is not a known key. Did you mean "count"?',
  ])
  for (const [value, problem] of [
    [{ count: '1' }, 'count must be a whole number, but is a string.'],
    [{ count: 10 }, 'count must be between 1 and 9.'],
    [{ name: '' }, 'name must have at least 2 characters.'],
    [{ name: 'Adelaide' }, 'name must have at most 4 characters.'],
    [{ owner: '0x12' }, /^owner must be a wallet address: .*\(EIP-55\)\. Copy it again\.$/],
    [{ day: 'today' }, 'day must be a valid date.'],
    [{ kind: 'link' }, 'kind must be one of "file", "folder".'],
    [{ tags: [] }, 'tags must not be empty.'],
    [{ tags: ['a', 'b', 'c'] }, 'tags must have at most 2 items.'],
    [{ tags: [1] }, 'tags.0 must be a string, but is a number.'],
    [{ 'a/b': 0 }, 'a/b must be more than 0.'],
    [{ size: {} }, 'size.bytes is missing.'],
    [{ size: 7 }, 'size must be a string or an object with "bytes".'],
  ] as const) {
    t.match(problemsOf({ count: 1, ...value }), [problem], JSON.stringify(value))
  }
  t.strictSame(problemsOf({ count: 1, name: 'Ada' }), [])
})

test('the checker compares only short keys for suggestions', async (t) => {
  const long = 'x'.repeat(100_000)
  t.match(
    problemsOf({ count: 1, [long]: 1 })[0]?.slice(long.length),
    /^ is not a known key\. Known here: a\/b, count/,
  )
})

test('errors of a foreign validator keep their message', async (t) => {
  const foreign = [
    { message: 'expected a number' },
    {
      keyword: 'required',
      instancePath: '/a',
      message: 'is required',
      params: { requiredProperties: ['b'] },
    },
    {},
  ] as unknown as SchemaError[]
  t.match(describeProblems(foreign), [
    { path: [], text: 'expected a number.' },
    { path: ['a'], text: 'is required.' },
    { path: [], text: 'is not valid.' },
  ])
})

test('the check of a format takes time in proportion to the text', async (t) => {
  const check = createAjv({ addUsedSchema: false }).compile(Type.String({ format: 'api-key' }))
  t.equal(check(' sk-key '), true)
  t.equal(check('sk key'), false)
  // With a quadratic check, this would take minutes.
  t.equal(check(`${' '.repeat(500_000)}ä`), false)
  t.equal(check(`${' '.repeat(500_000)}a`), true)
})
