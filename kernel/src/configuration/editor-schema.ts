import { byteSizePattern } from '@nodekeep/plugin-sdk/host'
import type { TObject } from 'typebox'
import {
  isByteSize,
  type JsonSchema,
  jsonSchema,
  mapSubschemas,
  subschemas,
  typesOf,
} from '../validation/json-schema.ts'
import { closeSchema } from './closed-schema.ts'
import { kernelSchema, pluginSchema } from './kernel-schema.ts'

const preset: JsonSchema = {
  type: 'string',
  description:
    'A preset of the node, such as "nodekeep:default", or the path of a file, relative to this one.',
}

/**
 * Creates one JSON Schema of a configuration file (draft-07, which editors support best).
 *
 * The schema requires no key, since another layer may set what a file leaves out. Every value may also be `"${NAME}"`, and
 * `null`, which removes what a preset sets.
 *
 * @param sections the schemas of the plugins' sections; `null` for a plugin without configuration
 */
export function editorSchema(sections: ReadonlyMap<string, TObject | null>): JsonSchema {
  const { plugins, ...own } = jsonSchema(kernelSchema).properties ?? {}
  const entry = { anyOf: [{ type: 'boolean' }, jsonSchema(pluginSchema)] }
  const plugin = partial(closeSchema(entry))
  const loaded = [...sections].map(([name, schema]) => [
    name,
    removable(
      partial(closeSchema(schema === null ? { type: 'object', properties: {} } : jsonSchema(schema))),
    ),
  ])
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Nodekeep configuration',
    type: 'object',
    allowTrailingCommas: true,
    properties: {
      $schema: { type: 'string' },
      extends: {
        description: 'Presets below this file. Later presets win over earlier ones, this file wins over all.',
        anyOf: [preset, { type: 'array', items: preset }],
      },
      ...Object.fromEntries(
        Object.entries(own).map(([name, schema]) => [name, removable(partial(closeSchema(schema)))]),
      ),
      plugins: { ...plugins, patternProperties: {}, additionalProperties: removable(plugin) },
      ...Object.fromEntries(loaded),
    },
  }
}

const isValue: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'additionalProperties'])

function partial(schema: JsonSchema): JsonSchema {
  const { required: _, ...rest } = schema
  const open = mapSubschemas(rest, (child, keyword) => {
    if (isValue.has(keyword)) return removable(partial(child))
    return 'const' in child ? child : partial(child)
  })
  const types = typesOf(schema)
  const { description, default: fallback } = schema
  if (types.size === 0 || types.has('object') || takesAnyText(schema)) return open
  return {
    anyOf: [open, { type: 'string', pattern: isByteSize(schema) ? `\\$\\{|${byteSizePattern}` : '\\$\\{' }],
    ...(description && { description }),
    ...(fallback !== undefined && { default: fallback }),
  }
}

/** Lets the value of a key be `null`. Editors show the description and the default beside the choice. */
function removable(schema: JsonSchema): JsonSchema {
  const { description, default: fallback } = schema
  return {
    anyOf: [schema, { type: 'null', description: 'Removes the value that a preset sets.' }],
    ...(description && { description }),
    ...(fallback !== undefined && { default: fallback }),
  }
}

const textRules = ['const', 'enum', 'pattern', 'format', 'minLength', 'maxLength']

/** Tells whether a schema accepts every text, and so also a reference to a variable. */
function takesAnyText(schema: JsonSchema): boolean {
  return subschemas(schema).some(
    (branch) =>
      [branch.type].flat().includes('string') && !textRules.some((rule) => branch[rule] !== undefined),
  )
}
