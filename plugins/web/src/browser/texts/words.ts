import { counted } from '../counted.ts'

export const product = 'Nodekeep'
export const close = 'Close'
export const cancel = 'Cancel'
export const copy = 'Copy'
export const copied = 'Copied.'
export const today = (time: string) => `today ${time}`
export const yesterday = 'yesterday'
export const daysAgo = (days: number) => (days === 1 ? 'yesterday' : `${counted(days, 'day')} ago`)
export const selected = 'The text is selected. Copy it with the keys of your system.'
export const statusOnly = (status: number) => `The node answered with the status ${status}. Try again later.`
