package opencl

import "unsafe"

// driver is the fake as the package sees a driver.
func (f *fakeCL) driver() *driver {
	return &driver{
		getPlatformIDs: func() ([]handle, status) {
			var ids []handle
			for i := range f.platforms {
				ids = append(ids, handle(i+1))
			}
			if len(ids) == 0 {
				return nil, platformNotFound
			}
			return ids, f.call("getPlatformIDs", func() status { return success })
		},
		getPlatformInfo: func(platform handle, key uint32) ([]byte, status) {
			if p := f.platforms[platform-1]; key == platformVersion {
				return []byte(p.version + "\x00"), success
			} else {
				return []byte(p.name + "\x00"), success
			}
		},
		getDeviceIDs: func(platform handle) ([]handle, status) {
			var ids []handle
			first := handle(1)
			for i, p := range f.platforms {
				for range p.devices {
					if handle(i+1) == platform {
						ids = append(ids, first)
					}
					first++
				}
			}
			if len(ids) == 0 {
				return nil, deviceNotFound
			}
			return ids, success
		},
		getDeviceInfo: f.deviceInfo,

		createContext: func(dev handle) (handle, status) {
			return f.make("createContext", func() any { return &fakeContext{dev} })
		},
		releaseContext: func(context handle) status { return f.drop("releaseContext", context) },
		createCommandQueue: func(context, _ handle, _ uint64) (handle, status) {
			return f.make("createCommandQueue", func() any { return &fakeQueue{context} })
		},
		releaseCommandQueue: func(queue handle) status { return f.drop("releaseCommandQueue", queue) },
		flush:               func(handle) status { return success },

		createBuffer: func(_ handle, _ uint64, size uintptr) (handle, status) {
			return f.make("createBuffer", func() any { return &fakeBuffer{bytes: make([]byte, size)} })
		},
		createSubBuffer: func(buffer handle, _ uint64, origin, size uintptr) (handle, status) {
			return f.make("createSubBuffer", func() any {
				return &fakeBuffer{bytes: f.objects[buffer].(*fakeBuffer).bytes[origin : origin+size], of: buffer}
			})
		},
		releaseMemObject: func(mem handle) status {
			f.mu.Lock()
			if b, ok := f.objects[mem].(*fakeBuffer); ok && b.used {
				f.taken -= int64(len(b.bytes))
			}
			f.mu.Unlock()
			return f.drop("releaseMemObject", mem)
		},

		createProgramWithSource: func(_ handle, text string) (handle, status) {
			return f.make("createProgramWithSource", func() any { f.builds++; return &fakeProgram{text} })
		},
		createProgramWithBinary: func(_, _ handle, image []byte) (handle, status) {
			return f.make("createProgramWithBinary", func() any { f.loads++; return &fakeProgram{string(image)} })
		},
		buildProgram: func(_, _ handle, options string) status {
			if f.building != nil {
				close(f.begun)
				<-f.building
			}
			return f.call("buildProgram", func() status {
				f.options = options
				if f.buildLog != "" {
					return buildProgramFailure
				}
				return success
			})
		},
		getProgramBuildLog: func(handle, handle) string { return f.buildLog },
		getProgramBinary: func(program handle) ([]byte, status) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.binaries++
			if f.noCode {
				return nil, -30
			}
			return []byte(f.objects[program].(*fakeProgram).text), success
		},
		releaseProgram: func(program handle) status { return f.drop("releaseProgram", program) },

		createKernel: func(program handle, name string) (h handle, st status) {
			st = f.call("createKernel", func() status {
				k := f.kernel(f.objects[program].(*fakeProgram).text, name)
				if k == nil {
					return invalidKernelName
				}
				h = f.add(k)
				return success
			})
			return h, st
		},
		getKernelNumArgs: func(kernel handle) (n uint32, st status) {
			st = f.call("getKernelNumArgs", func() status {
				n = uint32(len(f.objects[kernel].(*fakeKernel).params))
				return success
			})
			return n, st
		},
		getKernelWorkGroupInfo: func(handle, handle, uint32) (uint64, status) { return 0, success },
		setKernelArg: func(kernel handle, index uint32, size uintptr, value unsafe.Pointer) status {
			return f.call("setKernelArg", func() status { return f.objects[kernel].(*fakeKernel).argument(index, size, value) })
		},
		releaseKernel: func(kernel handle) status { return f.drop("releaseKernel", kernel) },

		enqueueNDRangeKernel: func(_, kernel handle, global, _ []uintptr) (handle, status) {
			return f.enqueue("enqueueNDRangeKernel", func() status { return f.run(f.objects[kernel].(*fakeKernel), global) })
		},
		enqueueReadBuffer: func(_, mem handle, offset uintptr, to []byte) (handle, status) {
			return f.enqueue("enqueueReadBuffer", func() status {
				b, st := f.use(mem)
				if st == success {
					copy(to, b[offset:])
				}
				return st
			})
		},
		enqueueWriteBuffer: func(_, mem handle, offset uintptr, from []byte) (handle, status) {
			return f.enqueue("enqueueWriteBuffer", func() status {
				b, st := f.use(mem)
				if st == success {
					copy(b[offset:], from)
				}
				return st
			})
		},
		enqueueCopyBuffer: func(_, src, dst handle, srcOffset, dstOffset, n uintptr) (handle, status) {
			return f.enqueue("enqueueCopyBuffer", func() status {
				from, st := f.use(src)
				if st != success {
					return st
				}
				to, st := f.use(dst)
				if st == success {
					copy(to[dstOffset:dstOffset+n], from[srcOffset:srcOffset+n])
				}
				return st
			})
		},
		enqueueFillBuffer: func(_, mem handle, pattern []byte, offset, n uintptr) (handle, status) {
			return f.enqueue("enqueueFillBuffer", func() status {
				b, st := f.use(mem)
				for i := uintptr(0); st == success && i < n; i += uintptr(len(pattern)) {
					copy(b[offset+i:offset+n], pattern)
				}
				return st
			})
		},
		enqueueMapBuffer: func(_, mem handle, _ uint64, _ uintptr) (at unsafe.Pointer, st status) {
			st = f.call("enqueueMapBuffer", func() status {
				at = unsafe.Pointer(unsafe.SliceData(f.objects[mem].(*fakeBuffer).bytes))
				return success
			})
			return at, st
		},
		enqueueUnmapMemObject: func(handle, handle, unsafe.Pointer) (handle, status) {
			return f.enqueue("enqueueUnmapMemObject", func() status { return success })
		},
		enqueueMarkerWithWaitList: func(_ handle, waits []handle) (handle, status) {
			return f.enqueue("enqueueMarkerWithWaitList", func() status { return f.waited(waits) })
		},
		enqueueBarrier: func(_ handle, waits []handle) (handle, status) {
			return f.enqueue("enqueueBarrier", func() status { return f.waited(waits) })
		},

		waitForEvent: func(event handle) status {
			return f.call("waitForEvent", func() status {
				if f.objects[event].(*fakeEvent).st != success {
					return waitListFailed
				}
				return success
			})
		},
		getEventStatus: func(event handle) (int32, status) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return int32(f.objects[event].(*fakeEvent).st), success
		},
		getEventCommandEnd: func(handle) (uint64, status) { return 0, profilingNotAvailable },
		releaseEvent:       func(event handle) status { return f.drop("releaseEvent", event) },
	}
}

// waited is the outcome of a command that waits for events.
func (f *fakeCL) waited(waits []handle) status {
	for _, w := range waits {
		if f.objects[w].(*fakeEvent).st != success {
			return waitListFailed
		}
	}
	return success
}
