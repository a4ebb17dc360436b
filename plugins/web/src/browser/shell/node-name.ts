import { signal } from '@preact/signals'
import * as texts from '../texts.ts'

/** The name that the owner gave the node. Until the node has told, it is the name of the product. */
export const nodeName = signal<string>(texts.product)
