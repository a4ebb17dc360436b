import sharp from 'sharp'

sharp.cache(false)
sharp.concurrency(1)
// libvips has loaders for many formats. Those of the allowed formats are enough.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: [
    'VipsForeignLoadJpeg',
    'VipsForeignLoadPng',
    'VipsForeignLoadWebp',
    'VipsForeignLoadNsgif',
    'VipsForeignLoadHeif',
  ],
})

export { sharp }
