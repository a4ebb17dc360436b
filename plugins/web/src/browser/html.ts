import { html as bound } from 'htm/preact'
import type { VNode } from 'preact'

/** Makes elements of a template with one root, or of several as a fragment. Values are text, never HTML. */
export const html = bound as (strings: TemplateStringsArray, ...values: unknown[]) => VNode
