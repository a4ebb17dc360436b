/** The thread that cuts contents into blocks, and hashes them. */
import { createHash } from 'node:crypto'
import { workOnStreams } from '@nodekeep/plugin-sdk/threads'
import { type Content, ContentBlocks } from '../../protocol/content-blocks.ts'

workOnStreams<number, Content>((size) => new ContentBlocks(size, () => createHash('sha256')))
