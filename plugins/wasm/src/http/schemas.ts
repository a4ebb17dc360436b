import { Type } from '@nodekeep/plugin-sdk'

const path = (what: string) => Type.String({ description: `Absolute path of ${what} in your files.` })

const moduleFile = path('a .wasm file')

const moduleBytes = Type.String({ description: 'The module, in base64.' })

/** `readArguments` checks the types: its messages say more than those of a schema. */
const argument = Type.Unsafe<unknown>({
  description: 'A number. Integers beyond 2^53 are texts of decimal digits; "NaN", "Infinity", "-Infinity".',
})

const call = {
  function: Type.String({ description: 'Name of an exported function.' }),
  args: Type.Optional(Type.Array(argument, { maxItems: 1000 })),
}

/** The body of `POST /execute-file`. */
export const executeFileBody = Type.Object({ filepath: moduleFile, ...call }, { additionalProperties: false })

/** The body of `POST /execute`. */
export const executeBody = Type.Object({ wasmBytes: moduleBytes, ...call }, { additionalProperties: false })

const result = Type.Union([Type.Number(), Type.String()])

/** The answer of both. `resultText` writes the results, because serializers write no negative zero. */
export const callAnswer = Type.Object({
  success: Type.Boolean(),
  result: Type.Union([Type.Null(), result, Type.Array(result)], {
    description: 'null, a value, or an array of values. Values are as in the arguments.',
  }),
})

const valueType = Type.Union([
  Type.Literal('i32'),
  Type.Literal('i64'),
  Type.Literal('f32'),
  Type.Literal('f64'),
])

/** `?path=…` */
export const exportsQuery = Type.Object({ path: moduleFile })

/** The answer of `GET /exports`. */
export const exportsAnswer = Type.Object({
  exports: Type.Array(
    Type.Object({
      name: Type.String(),
      parameters: Type.Array(valueType),
      results: Type.Array(valueType),
    }),
  ),
})

const folder = Type.Object(
  {
    path: path('a folder'),
    as: Type.Optional(Type.String({ description: 'Absolute path under which the program sees it.' })),
    writable: Type.Optional(Type.Boolean({ description: 'Whether the program may change it.' })),
  },
  { additionalProperties: false },
)

/** The body of `POST /run`. */
export const runBody = Type.Object(
  {
    filepath: Type.Optional(moduleFile),
    wasmBytes: Type.Optional(moduleBytes),
    args: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
    env: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: 1000 })),
    stdin: Type.Optional(Type.String()),
    encoding: Type.Optional(
      Type.Union([Type.Literal('utf8'), Type.Literal('base64')], {
        description: 'How stdin, stdout and stderr are written; "utf8" when not given.',
      }),
    ),
    folders: Type.Optional(Type.Array(folder, { maxItems: 16 })),
  },
  { additionalProperties: false },
)

const output = { stdout: Type.String(), stderr: Type.String() }

/** The answer of `POST /run`. */
export const runAnswer = Type.Object({
  success: Type.Boolean({ description: 'Whether the exit code is 0.' }),
  exitCode: Type.Integer(),
  ...output,
})

/** The error of `POST /run` for a program that had begun. */
export const failedRunAnswer = Type.Object(
  { error: Type.Literal(true), message: Type.String(), code: Type.String(), ...output },
  {
    description:
      'The program trapped or reached a limit, or its changes could not be stored. With what it wrote until then.',
  },
)
